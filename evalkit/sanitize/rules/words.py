"""Words that identify nobody: common English words that are names too, and words that stand for "no value"."""

from __future__ import annotations

__all__ = ["COMMON", "GENERIC", "LAST_FOUR_FRAMES", "NAME_FRAMES", "NO_NAMES", "PLACEHOLDERS", "ROLES", "TITLES"]

COMMON: frozenset[str] = frozenset(
    """
    a al an and are art as at august april autumn abbey able amber angel ash baby bank banks bar baron bay be bear bell
    best bill bin birch bird bishop black blue bo bob bond booth bow boy branch bridge bridges bright brook brooks brown
    buck bud buddy bull bush butcher butler by camp cane cannon canon car card carpenter case cash castle cat cellar
    chance charity chase chip christian church city clay clean cliff close clove coin cold con constant cook cool cooper
    copper corn cotton count court crane cross crown crystal cup curry daisy dale dan dawn day de dean dear del den dew
    di diamond do dock dog doll dollar dolly don dove drake drew du duke dusty eagle early east easter ed eden eve ever
    faith falcon fall fan farmer fern field fields finch fish fisher flint flower flowers flynn fog ford forest forth
    fortune fox frank free freeman french friend frost gale game garden gardener gate gates gay gem gene general gentle
    german gill ginger glass glen go gold golden good grace grand grant grave graves gray great green grey guard gun guy
    hale hall ham hand hard harp hart harvest hawk hay hazel he head heart heath heather herb hero high hill hills him
    his ho holiday holly home honey hood hook hope horn house hunt hunter hyde ice ikea in iris iron is island it ivory
    ivy jack jade jasmine jay jean jewel job jolly joy judge july june junior just justice keen key keys king kitchen
    knight la lady lake lamb land lane lark last laurel law lawn le leaf lee light lily lime lin line link lion little
    lo lock lodge long lord lot love low luck lucky major man march marina mark market marsh mason master mat max may me
    mead meadow mercy merit merry mild miles mill miller mine mint miss model monday moody moon moor more morning moss
    mount mountain much my myrtle new nice night no noble noon norm north nova oak ocean of off old olive on open opal
    or orange page paige pan paris park parker parks parsley parson pat patience pay payne peace peach pearl penny
    pepper perfect perry piece pierce pike pine pink pitt place plain plum point pole pool poor pope porter post pot
    potter pound powder power powers presley press price pride prime prince prior proper quick rain ran rand range
    ransom ray read red reed rest rice rich right ring rise river rivers road rob robin rock rocky rod roman root rope
    rose round row royal ruby rush russet rust rusty sage sally sand sandy saint savage scout sea seal self senior set
    sharp shell shepherd shine ship short show si silver simple singer sir skip sky slack small smart smiley so son song
    spark sparks spear spencer spice spring stack stair star stark stars steel sterling stern still stock stone storm
    strange street strong sue summer summers sun sunday sunny sure swallow swan sweet swift tab tailor tan taylor teal
    temple tender terry the thorn tiger tim time to toll tom tomb town trace trinity true trump turner twig ty underwood
    up valley van vale venture veronica victor victoria viola violet virgin virginia wade walker wall ward ware warm
    washer watch water waters way weaver web weeks welcome wells west whale wheat wheeler white wild will win wind
    window wing winner winter winters wise wish wolf won wood woods word worth wren yard year yeast yellow york you
    young your zone
    account address admin agent airline alabama alaska amazon america american apple arizona arkansas asia atlanta
    austin australia boston brazil britain british california canada charlotte chicago china chinese cleveland colorado
    columbus connecticut customer dallas dakota delaware denver detroit diego email england english europe florida
    francisco friday georgia germany google hawaii houston idaho illinois india indiana international iowa italy jackson
    jacksonville japan jersey jordan jose kansas kentucky lincoln london louisiana madison maine manager maryland
    massachusetts mexico miami michigan microsoft minnesota mississippi missouri montana name nebraska nevada ohio
    oklahoma openai oregon pennsylvania philadelphia phoenix phone portland president private public saturday seattle
    security service spain store support system team tennessee test texas thursday tool tuesday united user utah vermont
    washington wednesday wisconsin wyoming
    高峰 白云 黎明 黄河 长江 金星 安全 成功 文明 光明 和平 高兴 方便 平安 幸福 时间 地址 电话 客户 用户 先生 女士 小姐
    """.split()
)
"""Lower case. Such a word is replaced under its own key, in a full name and after a title, but not alone in a text."""

GENERIC: frozenset[str] = frozenset(
    "user users usr customer cust client member guest account acct acc admin root id uid demo test agent person "
    "employee emp staff profile name owner anon anonymous system default service bot unknown".split()
)
"""Lower case. Parts of account names that say nothing about the person."""

ROLES: frozenset[str] = frozenset(
    "info desk sales billing help contact team office hr jobs press news orders order shop web mail post master reply "
    "noreply hello hi it ops dev data api app bot svc srv node worker runner build ci cd cron job task queue db sql "
    "log logs cluster region east west prod staging stage main backup sync batch pipeline agent assistant model "
    "github gitlab google facebook apple twitter auth oauth saml ldap wechat weixin session device token tenant".split()
)
"""Lower case. Parts of account names that tell what an account is for, or who keeps it."""

PLACEHOLDERS: frozenset[str] = frozenset(
    "string str text none null nil undefined unknown n/a na tbd todo true false yes no required optional redacted "
    "removed masked hidden secret password token name example sample test empty default anonymous any object number "
    "integer boolean array".split()
)
"""Lower case. Whole values that stand for "no value here"."""

TITLES: frozenset[str] = frozenset(
    "mr mrs ms miss mx dr prof sir madam dear herr frau hr fr monsieur madame sr sra jr".split()
)
"""Lower case. Words in front of a name that are kept."""

NO_NAMES: frozenset[str] = frozenset(
    """
    a about after again all also am an and any anyone are as at be been before but by call can can't cannot click could
    customer customers did do does don't each email everybody everyone everything for from friend friends friendly get
    glad go good had happy has have he hello help her here hi hiring him his how human i i'd i'll i'm i've if in into is
    it it's its just kindly let like ltd madam manager me member members message more my need no not nothing now of on
    one or our out please re really reply representative sir siri sirs so some sorry subscriber sure support team thank
    thanks that the their them there they this those to today tomorrow unfortunately user users valued very was we
    welcome well were what when where which while who why will with world would yes yesterday you your folks guys ladies
    gentlemen colleague colleagues committee editor professor applicant candidate student students parent parents
    neighbor neighbors alexa google copilot chatgpt claude assistant agent bot ai all-hands everyone's
    n/a none null unknown tbd phone address date dob number order subject ref inc llc gmbh corp company
    suite ste apt apartment unit flat floor room rm box street road avenue zip iban ssn card plate
    monday tuesday wednesday thursday friday saturday sunday january february july september
    october november december
    先生 女士 小姐 您好 你好 什么 名字 客户 用户 本人 未知 不详 匿名 保密 经理 老师 客服 人员 已经 没有 需要 可以 请问 谢谢 管理员 负责人
    张贴 王府 王府井 陆续 谢绝 郑重 苏州 李宁 黄金 黄色 孔径 林业 唐朝 宋朝 徐州 董事 沈阳 汪洋 罗列 罗马 宋体 杨浦 朱红 郭家 陈列 陈述
    刘海 吴江 杜绝 傅里叶 谭鱼头 熊猫 陶瓷 莫名 樊城
    """.split()
)
"""Lower case. Words that are no part of a name though they stand where one does: what follows a greeting or a name."""

NAME_FRAMES: tuple[str, ...] = (
    "Mr. ", "Mr ", "Ms. ", "Ms ", "Mrs. ", "Mrs ", "Miss ", "Dr. ", "Dr ", "Dear ", "Hi ", "Hello ", "Hey ", "name is ",
    "name: ", "Name: ",
)  # fmt: skip
"""What stands before a name that is a common word too (Mark, Grace): only behind these it is looked for."""

LAST_FOUR_FRAMES: tuple[str, ...] = (
    "ending in ", "ends in ", "last four digits ", "last 4 digits ", "尾号", "尾号为", "尾号是", "后四位",
)  # fmt: skip
"""What stands before the last four digits of a card or phone: only behind these they are looked for in a text."""
