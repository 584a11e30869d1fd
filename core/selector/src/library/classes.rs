//! The names of Unicode classes that a pattern may use, in lower case and without underscores.

/// General categories, by their short and long names.
const CATEGORIES: &str = "\
    c cc cf cn co cs l ll lm lo lt lu lc m mc me mn n nd nl no p pc pd pe pf pi po ps s sc sk sm so z zl \
    zp zs any assigned ascii other control cntrl format unassigned privateuse surrogate letter \
    casedletter lowercaseletter modifierletter otherletter titlecaseletter uppercaseletter mark \
    combiningmark spacingmark enclosingmark nonspacingmark number decimalnumber digit letternumber \
    othernumber punctuation punct connectorpunctuation dashpunctuation closepunctuation finalpunctuation \
    initialpunctuation otherpunctuation openpunctuation symbol currencysymbol modifiersymbol mathsymbol \
    othersymbol separator lineseparator paragraphseparator spaceseparator";

/// Scripts.
const SCRIPTS: &str = "\
    adlam ahom anatolianhieroglyphs arabic armenian avestan balinese bamum bassavah batak bengali \
    bhaiksuki bopomofo brahmi braille buginese buhid canadianaboriginal carian caucasianalbanian chakma \
    cham cherokee chorasmian common coptic cuneiform cypriot cyprominoan cyrillic deseret devanagari \
    divesakuru dogra duployan egyptianhieroglyphs elbasan elymaic ethiopic georgian glagolitic gothic \
    grantha greek gujarati gunjalagondi gurmukhi han hangul hanifirohingya hanunoo hatran hebrew \
    hiragana imperialaramaic inherited inscriptionalpahlavi inscriptionalparthian javanese kaithi \
    kannada katakana kawi kayahli kharoshthi khitansmallscript khmer khojki khudawadi lao latin lepcha \
    limbu lineara linearb lisu lycian lydian mahajani makasar malayalam mandaic manichaean marchen \
    masaramgondi medefaidrin meeteimayek mendekikakui meroiticcursive meroitichieroglyphs miao modi \
    mongolian mro multani myanmar nabataean nagmundari nandinagari newtailue newa nko nushu \
    nyiakengpuachuehmong ogham olchiki oldhungarian olditalic oldnortharabian oldpermic oldpersian \
    oldsogdian oldsoutharabian oldturkic olduyghur oriya osage osmanya pahawhhmong palmyrene paucinhau \
    phagspa phoenician psalterpahlavi rejang runic samaritan saurashtra sharada shavian siddham \
    signwriting sinhala sogdian sorasompeng soyombo sundanese sylotinagri syriac tagalog tagbanwa taile \
    taitham taiviet takri tamil tangsa tangut telugu thaana thai tibetan tifinagh tirhuta toto ugaritic \
    vai vithkuqi wancho warangciti yezidi yi zanabazarsquare";

/// Whether patterns know a class of this name. Case and underscores do not matter.
pub(super) fn is_known(name: &str) -> bool {
    let plain: String =
        name.chars().filter(|letter| *letter != '_').map(|letter| letter.to_ascii_lowercase()).collect();
    !plain.is_empty() && CATEGORIES.split(' ').chain(SCRIPTS.split(' ')).any(|known| known == plain)
}
