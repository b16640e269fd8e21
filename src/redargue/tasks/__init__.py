"""Typed tasks: what agents ask of a backend, and the typed answers they get."""

from redargue.tasks.answer import Answer as Answer
from redargue.tasks.answer import AnswerClaim as AnswerClaim
from redargue.tasks.base import Task as Task
from redargue.tasks.judge import JudgeDebate as JudgeDebate
from redargue.tasks.query import OtherAnswer as OtherAnswer
from redargue.tasks.query import Query as Query
from redargue.tasks.query import RewriteQuery as RewriteQuery
from redargue.tasks.query import WriteQuery as WriteQuery
from redargue.tasks.sections import documents as documents
from redargue.tasks.untrusted import wrap_untrusted as wrap_untrusted
