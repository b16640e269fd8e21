#!/usr/bin/env bash
# Runs redargue, writes its reports, and ends with its exit code. Inputs are variables; none is ever part of a script.
set -euo pipefail

read -r -a redargue <<<"${INPUT_REDARGUE:-redargue}"
read -r -a arguments <<<"${INPUT_ARGUMENTS:-}"
report=${INPUT_REPORT:-redargue-report}

case $INPUT_COMMAND in
ground)
    command=(ground --answer "$INPUT_FILE")
    while IFS= read -r context; do
        if [[ -n $context ]]; then command+=(--context "$context"); fi
    done <<<"${INPUT_CONTEXT:-}"
    ;;
check)
    command=(check)
    ;;
*)
    echo "::error::command is 'ground' or 'check', not '${INPUT_COMMAND//[^[:alnum:]-]/}'"
    exit 2
    ;;
esac
if [[ -n ${INPUT_MIN_SUPPORTED:-} ]]; then command+=(--min-supported "$INPUT_MIN_SUPPORTED"); fi
if [[ -n ${INPUT_FAIL_ON:-} ]]; then command+=(--fail-on "$INPUT_FAIL_ON"); fi
if [[ ! -e $INPUT_FILE ]]; then
    echo "::error::the input 'file' names no file"
    exit 2
fi

mkdir -p "$report"
run=$(mktemp -d "$report/run.XXXXXX")/run
code=0
command+=(--run "$run" ${arguments[@]+"${arguments[@]}"})
if [[ $INPUT_COMMAND == check ]]; then command+=(-- "$INPUT_FILE"); fi
stop=stop-$RANDOM-$RANDOM  # a verdict quotes strangers' text, which must not be read as a workflow command
echo "::stop-commands::$stop"
NO_COLOR=1 "${redargue[@]}" "${command[@]}" || code=$?

if [[ -e $run/events.jsonl ]]; then
    write() { "${redargue[@]}" report "$run" -o "$report/$1" -f "${@:2}"; }
    write redargue.html html || true
    write redargue.md md || true
    for format in sarif junit; do
        file=redargue.${format/junit/xml}
        # A PDF has no characters to point at: without --file, the report names the run.
        write "$file" "$format" --file "$INPUT_FILE" 2>/dev/null || write "$file" "$format" || true
    done
fi
echo "::$stop::"

{
    echo "exit-code=$code"
    echo "sarif=$report/redargue.sarif"
    echo "junit=$report/redargue.xml"
} >>"${GITHUB_OUTPUT:-/dev/null}"
if [[ -s $report/redargue.md ]]; then
    head -c 900000 "$report/redargue.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"  # a summary holds 1 MiB
else
    echo "redargue ended with exit code $code and recorded no run." >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
fi
exit "$code"
