"""Typed tasks: what agents ask of a backend, and the typed answers they get."""

from redargue.tasks.answering import Answer as Answer
from redargue.tasks.answering import AnswerClaim as AnswerClaim
from redargue.tasks.base import Task as Task
from redargue.tasks.judging import JudgeDebate as JudgeDebate
from redargue.tasks.querying import RewriteQuery as RewriteQuery
from redargue.tasks.querying import WriteQuery as WriteQuery
