"""``redargue demo``: an answer that says more than its source does, checked sentence by sentence."""

from __future__ import annotations

import asyncio

import typer

_SOURCE = """Skerry Island ferry: terms of carriage

The ferry MV Orvell links Tarn Bay with Skerry Island and carries up to 240 passengers and 32 cars. \
The crossing takes 55 minutes.

Dogs travel free of charge but have to be kept on a lead. \
From Monday to Saturday the first ferry leaves Tarn Bay at 7:30, on Sundays at 9:15."""
_ANSWER = (
    "Yes, you can take your dog: dogs travel free of charge. The first ferry leaves Tarn Bay at 7:30 on Sundays. "
    "The crossing takes 75 minutes. There is a café on board."
)


def demo() -> None:
    """Check a chatbot's answer against its source: seconds, no key, no network."""
    from redargue import words
    from redargue.evidence import Side
    from redargue.reports.phrases import confidence_text, heading
    from redargue.spec import RunSpec
    from redargue.text.verification import ground

    typer.echo(f"{_SOURCE}\n\nA chatbot's answer: {_ANSWER}\n\nChecked against the source by the embedded models:\n")
    spec = RunSpec(method="single-reader", backend="embedded", offline=True)
    report = asyncio.run(ground(_ANSWER, contexts=[_SOURCE], spec=spec))
    for number, claim in enumerate(report.claims, 1):
        verdict = claim.verdict
        typer.echo(f"{number}. {claim.stated}\n   {heading(verdict)}, {confidence_text(verdict)}")
        for quote in (*verdict.side(Side.FOR), *verdict.side(Side.AGAINST)):
            typer.echo(f"   Characters {quote.start}–{quote.end} of the source: “{quote.text}”")
        for difference in verdict.differences:
            typer.echo(f"   What differs: {words.difference(difference)}")
    typer.echo("\nYour own files: redargue ground --answer ANSWER --context SOURCE")
