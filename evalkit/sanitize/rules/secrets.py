"""Patterns for secrets that gitleaks' rules leave out or ask more for: short tokens, headers, cookies, URLs, Chinese."""

from __future__ import annotations

from evalkit.sanitize.rules.rule import LEFT, Rule

__all__ = ["SECRET_RULES"]

_KEY_WORD = (
    r"(?i:pass(?:word|wd|phrase)|pwd|api[_-]?key|(?:client[_-]?|app[_-]?)?secret(?:[_-]?(?:access[_-]?)?key)?|"
    r"(?:access|auth|refresh|session|bearer)[_-]?token|token|(?:account|access|storage|master|encryption|signing)"
    r"[_-]?key|shared[_-]?access[_-]?(?:key|signature)|private[_-]?key)"
)

SECRET_RULES: tuple[Rule, ...] = (
    Rule(
        "api_key",
        "secret", "any",
        LEFT + r"(sk-[A-Za-z0-9_-]{20,}|sk_(?:live|test)_[A-Za-z0-9]{16,}|rk_live_[A-Za-z0-9]{16,}"
        r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}"
        r"|(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}|ya29\.[A-Za-z0-9_-]{20,}"
        r"|xox[abprs]-[A-Za-z0-9-]{19,}|xapp-[A-Za-z0-9-]{20,}|npm_[A-Za-z0-9]{36}"
        r"|pypi-[A-Za-z0-9_-]{50,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|dop_v1_[a-f0-9]{64}"
        r"|sq0csp-[A-Za-z0-9_-]{40,}|hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{40,}"
        r"|pplx-[A-Za-z0-9]{40,}|sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
        r"|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{8,}|tvly-[A-Za-z0-9-]{20,}|r8_[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{40,}"
        r"|pcsk_[A-Za-z0-9_]{40,}|fw_[A-Za-z0-9]{20,}|e2b_[0-9a-f]{30,}|jina_[A-Za-z0-9]{20}[A-Za-z0-9_-]{20,}|fc-[0-9a-f]{32})",
    ),
    Rule(
        "webhook",
        "secret", "any",
        r"(?i:discord(?:app)?\.com/api/webhooks/\d{15,22}/|api\.telegram\.org/bot\d+:)([A-Za-z0-9_-]{30,})",
        whole=False,
    ),
    Rule(
        "password_hash",
        "secret", "any",
        r"(\$(?:1|2[abxy]?|5|6|7|y|apr1|argon2(?:id|i|d)|scrypt|pbkdf2-[a-z0-9]+)\$[A-Za-z0-9./+=,$-]{20,})",
        whole=False,
    ),
    Rule(
        "command_line",
        "secret", "any",
        r"\b(?:(?:sshpass|(?:docker|podman|helm registry|az) login)\b[^\n|;&]{0,200}? -p |redis-cli\b[^\n|;&]{0,200}? -a "
        r"|ldapsearch\b[^\n|;&]{0,200}? -w |htpasswd\b[^\n|;&]{0,200}? -[A-Za-z]*b[A-Za-z]* [^\s]+ [^\s]+ )"
        r"[\"']?([^\s\"'|;&$<-][^\s\"'|;&<]{4,})",
        whole=False,
    ),
    Rule(
        "command_line_joined",
        "secret", "any",
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass)\b[^\n|;&]{0,200}? (-p[^\s\"'|;&<$]{5,})",
        whole=False,
    ),
    Rule(
        "login",
        "secret", "any",
        r"(?i:\blogin\s+[^\s]+\s+password\s+|\bauth\s?=\s?(?:HTTPBasicAuth)?\(\s?[\"'][^\"'\n]{0,80}[\"'],\s?[\"']"
        r"|\bidentified\s+by\s+'|\bwith\s+(?:encrypted\s+)?password\s+')"
        r"([^\s\"'<{$]{5,})",
        whole=False,
    ),
    Rule(
        "jwt",
        "secret", "any",
        LEFT + r"(eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)?)",
    ),
    Rule(
        "private_key",
        "secret", "any",
        r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-[^-]){20,}"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?)",
        whole=False,
    ),
    Rule(
        "auth_header",
        "secret", "any",
        r"(?i:bearer|basic|authorization:\s*token)\s+([A-Za-z0-9._~+/-]{16,}={0,2})",
    ),
    Rule(
        "cookie",
        "secret", "any",
        r"(?i:\b(?:set-)?cookie[\"']?\s?[:=]\s?[\"']?)([A-Za-z0-9_.-]{1,}=[^\s\"'\r\n][^\"'\r\n]*)",
        whole=False,
    ),
    Rule(
        "url_password",
        "secret", "around",
        r"[A-Za-z][A-Za-z0-9+.-]+://[^\s/:@\"']*:([^\s/@\"']+)@",
        around=(("://",), 32, 410),
        whole=False,
    ),
    Rule(
        "assignment",
        "secret", "any",
        _KEY_WORD + r"[\"']?\s{0,3}(?:=|:|=>|:=)\s{0,3}[\"'`]?([^\s\"'`,;&<>()\[\]{}$\\]{8,})",
        whole=False,
    ),
    Rule(
        "said",
        "secret", "any",
        r"(?i:\b(?:password|passcode|passphrase|pin|otp|api key|secret key|access token|verification code)\b"
        r"(?: code| number)?(?: (?:for|to|of|on) [^.:;\n]{1,40}?)? ?(?: is\b| was\b|:)) {0,2}[`\"'“]?([!-~]{4,})",
        whole=False,
    ),
    Rule(
        "signature",
        "secret", "any",
        r"[?&;](?:sig|Signature|X-Amz-Signature|X-Goog-Signature|access_token|auth|api[_-]?key)="
        r"([A-Za-z0-9%+/_.~-]{16,}={0,2})",
        whole=False,
    ),
    Rule(
        "assignment_zh",
        "secret", "cjk",
        r"(?:密码|口令|密钥|令牌|验证码)\s?(?:[:：=]|是|为)\s?([!-~]{4,})",
        whole=False,
    ),
)  # fmt: skip
