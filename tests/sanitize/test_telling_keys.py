"""Values under a key that tells what they are, wherever the key stands and however the value is written."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.verify import verify_strings

KEY = b"telling keys test key, 32 bytes."


def clean(value: Any) -> str:
    """One value through a fresh sanitizer, as JSON; a second pass changes nothing, the last look finds nothing."""
    sanitizer = Sanitizer(Policy(), KEY)
    made = sanitizer.value(value)
    verify_strings([json.dumps(made, ensure_ascii=False)], sanitizer.harvested)
    assert Sanitizer(Policy(), KEY).value(made) == made
    return json.dumps(made, ensure_ascii=False)


NAMES = {
    "a nickname in it": "Qiwex (Bo) Barlo",
    "quoted": '"Qiwex Barlo"',
    "two people": "Qiwex & Zorim Barlo",
    "a list in a text": "Qiwex Barlo; Zorim Halde",
    "as airlines write": "BARLO/QIWEX MR",
    "a picture": "Qiwex Barlo \u2728",
    "an invisible sign": "Qiwex\u200b Barlo",
    "right to left": "\u202bQiwex Barlo\u202c",
    "many words": "Qiwex Zorim Halde Maro Fenil Tilo Barlo",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_name_that_is_more_than_words_goes_under_its_key(name: str) -> None:
    """No sign beside the words makes it nobody's."""
    made = clean({"full_name": name})
    assert not any(word in made.lower() for word in ("qiwex", "barlo", "zorim"))


@pytest.mark.parametrize(
    "name", ["प्रिया शर्मा", "สมชาย ใจดี", "கமலா தேவி", "مُحَمَّد علي", "שרה כהן", "김민준", "Мария Иванова", "Νίκος Παπάς"]
)
def test_a_name_in_any_script_goes_under_its_key(name: str) -> None:
    """Python takes the vowel signs of many scripts for no letters."""
    made = clean({"full_name": name, "text": f"({name})"})
    assert not any(word in made for word in name.split())


@pytest.mark.parametrize(
    ("under_key", "in_text"), [("Zoë Krämer", "Zoe\u0308 Kra\u0308mer"), ("Zoe\u0308 Kra\u0308mer", "Zoë Krämer")]
)
def test_composed_and_decomposed_letters_are_one_name(under_key: str, in_text: str) -> None:
    """A file's name may hold the one and a database the other: both go, with one surrogate."""
    made = json.loads(clean({"full_name": under_key, "text": f"for {in_text} here"}))
    assert made["text"] == f"for {made['full_name']} here"


KEYED: dict[str, tuple[str, Any]] = {
    "element": ("Qiwex", "<customer><firstName>Qiwex</firstName></customer>"),
    "element of a namespace": ("s3cr3tpass", "<wsse:Password Type='t'>s3cr3tpass</wsse:Password>"),
    "element in Chinese": ("蒋泽思", "<客户><姓名>蒋泽思</姓名></客户>"),
    "option in Chinese": ("蒋泽思", "run --姓名 蒋泽思"),
    "setting in XML": ("s3cr3tpass", '<add key="DbPassword" value="s3cr3tpass"/>'),
    "form in HTML": ("s3cr3tpass", "<input type='text' name='password' id=x value='s3cr3tpass'>"),
    "option": ("s3cr3tpass", "deploy --password s3cr3tpass --verbose"),
    "option in a list": ("a8d7f6a8d7f6zz", "['curl', '--token', 'a8d7f6a8d7f6zz', 'x']"),
    "CSV": ("83921772", "id,account_number,city\n1,83921772,Paris\n2,83921773,Bonn\n"),
    "CSV with quotes": ("Qiwex, Barlo", 'id;full_name\r\n1;"Qiwex, Barlo"\r\n'),
    "CSV with a person": ("Qiwex Barlo", "name,email\nQiwex Barlo,qiwex@barlo.io\n"),
    "TSV": ("Qiwex", "n\tfirst_name\n1\tQiwex\n"),
    "Markdown": ("Qiwex", "Found:\n\n| n | first_name |\n|---|---|\n| 1 | Qiwex |\n\nDone."),
    "table of a shell": ("Qiwex", " n | first_name \n---+------------\n 1 | Qiwex\n"),
    "INSERT": ("hunter2xyz", "INSERT INTO users (id, password) VALUES (1, 'hunter2xyz'), (2, 'hunter2xyy')"),
    "columns and rows": ("Qiwex", {"columns": ["id", "first_name"], "rows": [[1, "Qiwex"]]}),
    "fields and data": ("Qiwex", {"fields": [{"name": "id"}, {"name": "first_name"}], "data": [[1, "Qiwex"]]}),
    "header row": ("Qiwex", [["id", "first_name"], [1, "Qiwex"], [2, "Zorim"]]),
    "pairs": ("s3cr3tpassw0rd", [["accept", "*/*"], ["x-api-key", "s3cr3tpassw0rd"]]),
    "Key and Value": ("s3cr3tpass", [{"Key": "DB_PASSWORD", "Value": "s3cr3tpass"}]),
    "cookies": ("a8d7f6a8d7f6zz", {"cookies": {"sid": "a8d7f6a8d7f6zz"}}),
    "cookies of a browser": ("a8d7f6a8d7f6zz", {"cookies": [{"name": "sid", "value": "a8d7f6a8d7f6zz", "path": "/"}]}),
    "plural": ("s3cr3tpass", {"passwords": ["s3cr3tpass"]}),
    "a card's code": ("737", {"cvv": "737"}),
    "a number": ("83921", {"pin": 83921}),
    "an account's number": ("8834521", {"user_id": 8834521}),
    "a date of birth": ("03/07/84", {"dob": "03/07/84"}),
    "a date in words": ("7th of March", {"dob": "7th of March 1984"}),
    "a name with particles": ("Qiwex", {"full_name": "Qiwex Zorim van der Halde y de Barlo"}),
    "letters for digits": ("BARLO", {"phone": "1-800-555-BARLO"}),
    "words around it": ("536904399", {"ssn": "536904399 (verified)"}),
}


@pytest.mark.parametrize(("value", "given"), KEYED.values(), ids=KEYED.keys())
def test_a_value_goes_wherever_its_key_stands(value: str, given: Any) -> None:
    """Beside it, around it, above it."""
    assert value not in clean(given)


SECRETS = {
    "Groq": "gsk_Q7xTb2LmVp9Zr4KsWc8NdYhJq8Zr4KsWc7NdYhJQ7xTb2LmVp9",
    "xAI": "xai-Q7xTb2LmVp9Zr4KsWc8NdYhJq8Zr4KsWc7NdYhJQ7xTb2LmVp9",
    "Langfuse": "sk-lf-8a7f6c5d-1b2c-4d3e-9f8a-7b6c5d4e3f2a",
    "LangSmith": "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",
    "Tavily": "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",
    "Hugging Face": "hf_Q7xTb2LmVpZrKsWcNdYhJqZrKsWcNdYhJQ",
    "crypt": "$6$saltsalt$Wp1sQeD5vYbXkU8oZzZ/Wp1sQeD5vYbXkU8oZzZ",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
def test_keys_of_the_services_of_agents_are_known(secret: str) -> None:
    """By their prefix, anywhere."""
    assert secret not in clean(f"used {secret} for it")


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("s3cr3tpass", "sshpass -p s3cr3tpass ssh me@host"),
        ("s3cr3tpass", "mysql -u root -ps3cr3tpass shop"),
        ("s3cr3tpass", "mysqldump -ps3cr3tpass shop; echo s3cr3tpass"),
        ("s3cr3tpass", "redis-cli -p 16379 -a s3cr3tpass ping"),
        ("s3cr3tpass", "htpasswd -bc users qiwex s3cr3tpass"),
        ("s3cr3tpass", "docker login -u qiwex -p s3cr3tpass reg.io"),
        ("s3cr3tpass", "machine api.x.io login qiwex password s3cr3tpass"),
        ("s3cr3tpass", "requests.get(url, auth=('qiwex', 's3cr3tpass'))"),
        ("s3cr3tpass", "const dbPassword = `s3cr3tpass`;"),
        ("s3cr3tpass", "the password for the shop's database is s3cr3tpass"),
        ("AAFQ7xTb2LmVp9Zr4KsWc8NdYhJq8Zr4KsW", "https://api.telegram.org/bot5839201746:AAFQ7xTb2LmVp9Zr4KsWc8NdYhJq8Zr4KsW/x"),
        ("MIIEvQIBADANBgkqhkiG9w0B", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSj..."),
        ("müller@exämple.de", "mail müller@exämple.de now"),
        ("иван@почта.рф", "mail иван@почта.рф now"),
        ("qiwex@xn--e1afmkfd.xn--p1ai", "mail qiwex@xn--e1afmkfd.xn--p1ai now"),
    ],
)  # fmt: skip
def test_a_secret_goes_by_what_stands_around_it(secret: str, text: str) -> None:
    """On command lines, in code, in webhooks, cut off by an exporter."""
    assert secret not in clean(text)


@pytest.mark.parametrize(
    "path",
    ["/home/qiwexb/shop/x.py", "/Users/qiwexb", r"C:\Users\qiwexb\x.py", 'cwd="/home/qiwexb"', "/Users/qiwex.barlo/a"],
)
def test_whose_home_a_folder_is_goes(path: str) -> None:
    """Sessions of coding agents are full of it; it goes from the name of the session's folder, too."""
    made = clean([path, "-Users-qiwexb-shop"]) if "qiwexb" in path else clean(path)
    assert "qiwex" not in made


BAIT: dict[str, Any] = {
    "homes of machines": ["/home/ubuntu/x", "/home/runner/work", "/Users/Shared/x", "/home/vscode/a", "/home/user1/b"],
    "routes": [
        "GET https://shop.io/home/settings/profile",
        "GET /home/dashboard HTTP/1.1",
        "route('/home/wishlist/1')",
    ],
    "a route, and the word": "open /home/products/12 and look at the products of the dashboard at /home/dashboard/x",
    "ports and databases": "redis-cli -p 16379; ldapsearch -p 10389; mysqldump -u root -p shop_production2 > 16379.sql",
    "a year of birth": {"dob": "1984", "order": "#W1984551", "text": "19841 sold"},
    "no date of birth": {"birthday": "in 3 weeks", "text": "back in 3 weeks"},
    "about a secret": {
        "credentials": {"created_at": "2024-03-01T00:00:00Z", "model": "gpt-4o-2024-08-06", "url": "https://x1.io/v1"},
        "secrets": {"since": "2024-03-01", "version": "v1.22.333", "file": "/etc/keys/app1"},
        "cookies": [{"name": "__Host-session1", "value": "dark", "expires": "2026-01-01"}],
    },
    "what is asked for": "I need:\nname, address, phone\nflight number, date, seat\nand the flight number back",
    "a sentence in a name's place": {
        "full_name": "the name of the customer as it is on the card",
        "text": "on the card",
    },
    "a model of phones": {"phone": "GALAXY S24 ULTRA 256GB"},
    "names of packages": "jina_embeddings_v2_base_en_model_long_name_more",
    "fields of a schema": {"required": ["username", "password"], "enum": ["token", "phone"]},
    "tables of things": "name,price\nBlue Shirt,12\nRed Shirt,13\n",
    "prose in lines": "First, we look.\nThen, we see, and win.\n- a, b\n- c, d\n",
    "rows of things": {"columns": ["name", "price"], "rows": [["Blue Shirt", 12]]},
    "counts": {"tokens": 512, "max_tokens": 100, "token": 50256, "user_id": 7},
    "options": "python x.py --name shop --verbose -n 4 --max-tokens 512",
    "a token of a text": {"type": "token", "value": "hello"},
    "a parser of options": "p.add_argument('--password', help='the password', default=None, type=str)",
    "an option's type": "p.add_argument('--token', type=str, required=True)",
    "help": "  --username USER   the user\n  --password PASS   the password\n  --address ADDR    where to listen",
    "calls": "User(password=hash_password(pw), username=username), Client(api_key=os.environ['KEY'], token=self.token)",
    "fields of a form": "| Field | Type |\n|---|---|\n| password | string |\n| email | string |\n| token | string |",
    "a repository": {"full_name": "facebook/react", "x": "react by facebook"},
    "an image of a page": "/home/hero.png and /home/backend/app.py",
    "what lies beside secrets": {"secrets": [{"namespace": "prod2024x", "uid": "f81d4fae-7dec", "mount": "kv-v2-eu1"}]},
    "an address that is lacking": {"errors": {"address": "not found", "street": "is required"}},
    "goods": {"Smartphone": "1801728040", "Headphone": "4896585277", "iPhone": "6945232052"},
    "the id of a row": {"user_id": 10001, "text": "10001 items"},
}


@pytest.mark.parametrize("given", BAIT.values(), ids=BAIT.keys())
def test_what_is_nobodys_stays(given: Any) -> None:
    """To the letter."""
    assert clean(given) == json.dumps(given, ensure_ascii=False)


@pytest.mark.parametrize("note", [" (primary contact)", "; see notes"])
def test_what_is_noted_beside_a_name_is_no_name_elsewhere(note: str) -> None:
    """It goes with the name, and its words stay where they stand alone."""
    made = json.loads(clean({"full_name": f"Qiwex Barlo{note}", "text": "the contact sees the notes of Barlo"}))
    assert "qiwex" not in made["full_name"].lower()
    assert made["text"].startswith("the contact sees the notes of ")
    assert "Barlo" not in made["text"]


def test_an_address_among_credentials_is_the_one_that_stands_elsewhere() -> None:
    """It is no secret of its own: one value has one surrogate."""
    made = json.loads(clean({"credentials": {"email": "qiwex.b1@barlo.io"}, "to": "qiwex.b1@barlo.io"}))
    assert made["credentials"]["email"] == made["to"]
    assert made["to"].endswith("@example.com")


def test_pairs_of_two_forms_in_one_text_are_each_replaced_in_place() -> None:
    """What stands between and behind them is there once, as it was."""
    made = json.loads(clean("{'username': 'qiwex_b99', 'n': 1} and then username=zorim_77 end"))
    assert made.startswith("{'username': '")
    assert made.count("and then username=") == 1
    assert made.endswith(" end")
    assert "qiwex" not in made
    assert "zorim" not in made


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t (a) VALUES (" + "'a'" * 20_000,
        "a,b\n" * 40_000,
        "a,b\n" + "-" * 100_000 + "x\n",
        "<a " + 'name="a" ' * 20_000,
        "--a" + " " * 100_000 + "\n" + "--a " * 20_000,
        r"\x41 %u5F20 =41=42 " * 4_000,
    ],
    ids=["quotes", "headings", "rules", "attributes", "options", "bytes"],
)
def test_no_text_takes_long(text: str) -> None:
    """Whatever it begins and does not end: in proportion to its length."""
    began = time.process_time()
    clean(text)
    assert time.process_time() - began < 10


NUMBERS = {
    "user": {"user_id": 3917264},
    "chat": {"qq": 39172641},
    "member": {"member_id": 3917264},
    "phone": {"phone": 6175550142},
    "social security": {"ssn": 391726455},
    "rows": {"columns": ["user_id", "n"], "rows": [[3917264, 1]]},
}


@pytest.mark.parametrize("told", NUMBERS.values(), ids=NUMBERS.keys())
def test_a_number_that_a_key_tells_goes_where_no_key_tells_it(told: dict[str, Any]) -> None:
    """An agent hands it on under another name: as an argument, below zero, in a list, in JSON in a text."""
    number = told["rows"][0][0] if "rows" in told else next(iter(told.values()))
    value = {"told": told, "owner": number, "chat": -number, "all": [number, 1], "text": json.dumps({"n": number})}
    made = json.loads(clean(value))
    assert str(number) not in json.dumps(made)
    assert made["owner"] == made["all"][0] == -made["chat"]
    assert made["all"][1] == 1


SOMEBODYS: dict[str, tuple[str, Any]] = {
    "a key that begins with a role": ("Qiwex", {"customer_first_name": "Qiwex", "billing_full_name": "Qiwex Barlo"}),
    "a phone of somebody": ("83921772", {"customer_phone": "83921772"}),
    "a name where an account is told": ("Qiwex", {"user_name": "Qiwex Barlo"}),
    "a list of people": ("Zorim", {"customers": ["Qiwex Barlo", "Zorim Halde"]}),
    "the parts of a name": ("Qiwex", {"name": {"first": "Qiwex", "last": "Barlo"}}),
    "the parts of a name in lists": ("Qiwex", {"patient": {"name": {"given": ["Qiwex"], "family": "Barlo"}}}),
    "a spreadsheet's headings": ("Qiwex", {"headers": ["Name", "Email"], "rows": [["Qiwex Barlo", "q@barlo.io"]]}),
    "a spreadsheet's rows": ("Qiwex", [{"Name": "Qiwex", "Email": "q@barlo.io"}]),
    "a long note in brackets": ("Qiwex", {"full_name": "Qiwex Barlo (the tall one in the back)"}),
    "a table in Chinese": ("蒋泽思", "姓名,城市\n蒋泽思,北京\n"),
    "Markdown in Chinese": ("蒋泽思", "| 姓名 | 城市 |\n|--|--|\n| 蒋泽思 | 北京 |"),
    "headings with spaces": ("Zorim", "first_name, city\nZorim, Kiel\n"),
    "a home as a URL": ("qiwex", "file:///home/qiwex/x"),
    "a home on a Mac amid words": ("qiwex", "ls /Users/qiwex; cd .."),
    "a home on Windows": ("qiwex", "C:/Users/qiwex/AppData or /c/Users/qiwex/AppData"),
    "a password in SQL": ("s3cr3tpw1", "CREATE USER bob IDENTIFIED BY 's3cr3tpw1'"),
    "a role's password": ("s3cr3tpw1", "ALTER ROLE bob WITH PASSWORD 's3cr3tpw1'"),
    "a password's variable": ("s3cr3tpw1", "export DB_PASS=s3cr3tpw1"),
    "in a call": ("qiwex_b", "User(username=qiwex_b)"),
}


@pytest.mark.parametrize(("value", "node"), SOMEBODYS.values(), ids=SOMEBODYS.keys())
def test_what_is_somebodys_goes(value: str, node: Any) -> None:
    """Nothing around it makes it nobody's."""
    assert value not in clean(node)


def test_a_bracket_behind_a_value_stays() -> None:
    """Whoever runs the code later finds it whole."""
    assert json.loads(clean("User(username=qiwex_b)")).endswith(")")
