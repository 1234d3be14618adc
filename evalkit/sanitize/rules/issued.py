"""What authorities give out: the beginnings of card numbers, the lengths of IBANs, the top-level domains."""

from __future__ import annotations

__all__ = ["CARD_ISSUERS", "IBAN_LENGTH", "TOP_DOMAINS"]

CARD_ISSUERS: dict[int, tuple[str, ...]] = {
    12: ("50", "56", "57", "58", "6"), 13: ("4", "50", "56", "57", "58", "6"), 14: ("30", "36", "38", "39", "50", "6"),
    15: ("34", "37", "1800", "2131", "50", "6"), 16: ("2", "3", "4", "5", "6"), 17: ("4", "50", "6"),
    18: ("4", "50", "6"), 19: ("4", "50", "56", "57", "58", "6"),
}  # fmt: skip
"""How numbers of a length start, by ISO/IEC 7812 as the networks publish it."""

IBAN_LENGTH: dict[str, int] = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29,
    "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29,
    "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28,
    "HN": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20,
    "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19,
    "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29,
    "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24, "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24,
    "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
    "YE": 30,
}  # fmt: skip
"""Characters by country, from the SWIFT IBAN registry."""

TOP_DOMAINS: frozenset[str] = frozenset(
    "com org net edu gov mil int info biz name pro mobi aero coop museum travel jobs cat tel asia post xyz app dev "
    "online site store tech shop club cloud email live life world today news blog page agency company solutions "
    "services systems network digital media group global center support work works software design studio consulting "
    "finance bank insurance health care clinic law legal school academy university education foundation house homes "
    "london berlin paris tokyo example test invalid local localhost internal corp lan "
    "art audio auto bar beer best bet bid bike boutique build builders business buzz cafe camp capital cards career "
    "careers cash casino catering chat cheap church city cleaning click coach codes coffee community computer "
    "contact contractors cool coupons courses credit cricket dance data date dating deals delivery democrat dental "
    "diamonds direct directory discount doctor domains download earth energy engineer engineering enterprises "
    "equipment estate events exchange expert exposed express fail farm fashion film financial fish fit fitness "
    "flights florist flowers football forsale fun fund furniture gallery game games garden gift gifts gives glass "
    "gmbh gold golf graphics gratis green gripe guide guru hair healthcare help hockey holdings holiday horse "
    "hospital host hosting hotel how icu immo immobilien industries ink institute insure international investments "
    "jewelry kaufen kitchen land lease lgbt limited limo link loan loans lol love ltd luxury maison management "
    "market marketing markets mba memorial moda moe money mortgage movie nyc observer one ong ooo organic "
    "partners parts party pet photo photography photos pics pictures pizza place plumbing plus press productions "
    "promo properties property pub quebec racing realestate realty recipes red rehab reisen rent rentals repair "
    "report republican rest restaurant review reviews rich rip rocks rodeo rugby run sale salon science security "
    "services sexy shoes show singles ski soccer social solar space sport srl study style sucks supplies supply surf "
    "surgery tax taxi team tennis theater tickets tips tires tools top tours town toys trade training tube uno "
    "vacations vegas ventures vet viajes video villas vin vip vision vodka vote voyage watch webcam website wedding "
    "wien wiki win wine wtf yoga zone africa amsterdam bayern boston brussels capetown cologne hamburg istanbul "
    "koeln madrid melbourne miami moscow osaka rio sydney vlaanderen wales zuerich onion arpa".split()
)
"""Of more than two letters. The countries' have two; a longer word that is none of these is no domain but code."""
