#!/bin/sh
# One question to Anthropic's Messages API, with nothing but curl. The question comes on standard input.
set -eu
question=$(cat)
answer=$(
    printf '{"model": "claude-test", "max_tokens": 100, "messages": [{"role": "user", "content": "%s"}]}' "$question" |
        curl --silent --show-error --fail-with-body "$ANTHROPIC_BASE_URL/v1/messages" \
            --header "x-api-key: $ANTHROPIC_API_KEY" \
            --header "anthropic-version: 2023-06-01" \
            --header "content-type: application/json" \
            --data @-
)
printf '%s\n' "$answer" | sed 's/.*"text": *"\([^"]*\)".*/\1/'
