"""Every question that is declared, by the name of its command."""

from fluidkv.answers.cache.question import CACHE
from fluidkv.answers.compare.question import COMPARE
from fluidkv.answers.preempt.question import PREEMPT
from fluidkv.answers.price.question import PRICE
from fluidkv.answers.route.question import ROUTE
from fluidkv.questions.question import Question

QUESTIONS: dict[str, Question] = {
    each.name: each for each in (COMPARE, CACHE, ROUTE, PREEMPT, PRICE)
}
