"""Every question that is declared, by the name of its command."""

from fluidkv.answers.atlas import ATLAS
from fluidkv.answers.cache.question import CACHE
from fluidkv.answers.cascade import CASCADE
from fluidkv.answers.compare.question import COMPARE
from fluidkv.answers.equilibria import EQUILIBRIA
from fluidkv.answers.log_replay import REPLAY
from fluidkv.answers.mix import MIX
from fluidkv.answers.preempt.question import PREEMPT
from fluidkv.answers.price.question import PRICE
from fluidkv.answers.pulse import PULSE
from fluidkv.answers.recommend.question import RECOMMEND
from fluidkv.answers.records import ORACLE
from fluidkv.answers.route.question import ROUTE
from fluidkv.answers.size.question import SIZE
from fluidkv.answers.study.question import STUDY
from fluidkv.answers.threshold import THRESHOLD
from fluidkv.answers.wait.question import WAIT
from fluidkv.questions.question import Question

_SERVERS = (STUDY, RECOMMEND, COMPARE, SIZE, REPLAY, CACHE, ROUTE, PREEMPT, PRICE, MIX, WAIT)
_THEORY = (THRESHOLD, EQUILIBRIA, CASCADE, PULSE, ATLAS)
QUESTIONS: dict[str, Question] = {each.name: each for each in (*_SERVERS, *_THEORY, ORACLE)}
