/**
 * A text in the form that Flite can read: plain ASCII, with words instead of the signs that it does not know. Flite
 * itself reads numbers, dollars, times and usual abbreviations. Accents are dropped, Greek and Cyrillic are spelt in
 * Latin letters; emoji and other scripts cannot be spoken and are omitted.
 */

const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/[\u2018\u2019\u201A\u201B\u2032\u02BC`´]/gu, "'"],
  [/[\u201C-\u201F\u2033«»„]/gu, '"'],
  [/\u2026/gu, '...'],
  [/\s*[\u2013\u2014\u2015]\s*(?=\D)|\s--+\s/gu, ', '],
  [/[\u2010-\u2012\u2212]|[\u2013\u2014](?=\d)/gu, '-'],
  [/[。！？]/gu, '. '],
  [/[、，；]/gu, ', '],
  [/½/gu, ' one half '],
  [/¼/gu, ' one quarter '],
  [/¾/gu, ' three quarters '],
  [/(\d)\s*°\s*C\b/gu, '$1 degrees Celsius'],
  [/(\d)\s*°\s*F\b/gu, '$1 degrees Fahrenheit'],
  [/(\d)\s*°/gu, '$1 degrees '],
  [/(\d)\s*km\/h\b/gu, '$1 kilometres per hour'],
  [/(\d)\s*mph\b/gu, '$1 miles per hour'],
  [/£\s?(\d[\d,.]*\d|\d)/gu, '$1 pounds'],
  [/€\s?(\d[\d,.]*\d|\d)/gu, '$1 euros'],
  [/(\d)\s?€/gu, '$1 euros'],
  [/[¥￥]\s?(\d[\d,.]*\d|\d)/gu, '$1 yen'],
  [/©/gu, ' copyright '],
  [/[®™]/gu, ' '],
  [/×/gu, ' times '],
  [/÷/gu, ' divided by '],
  [/[→⇒➔]/gu, ' to '],
  [/≈/gu, ' about '],
  [/≤/gu, ' at most '],
  [/≥/gu, ' at least '],
  [/²/gu, ' squared '],
  [/³/gu, ' cubed '],
];

/** Signs of prose and of source code, once all is ASCII. */
const PLAIN_SIGNS: readonly (readonly [RegExp, string])[] = [
  [/\bhttps?:\/\/(www\.)?/gi, ''],
  [/(?<=[a-z0-9])@(?=[a-z0-9])/gi, ' at '],
  [/(?<=[a-z]{2})\.(?=[a-z]{2,}\b)/gi, ' dot '],
  [/(?<=[a-z])\/(?=[a-z])/gi, ' slash '],
  [/(\d{1,4})\/(\d{1,2})\/(\d{1,4})/g, '$1 $2 $3'],
  [/&/g, ' and '],
  [/\bC\+\+/g, 'C plus plus'],
  [/(?<=\s|^)\+(?=\d)|(?<=[\w)])\s*\+\s*(?=\w)/g, ' plus '],
  [/(?<=\w)\s*=\s*(?=\w)/g, ' equals '],
  [/#(?=\d)/g, ' number '],
  [/#(?=\w)/g, ' hashtag '],
  [/\$(?!\d)/g, ' dollars '],
  [/[*_~^|\\<>{}[\]#=+@`/]/g, ' '],
];

/** Letters that are not Latin letters with a mark, as an English reader would spell their sounds. */
const OTHER_LETTERS: ReadonlyMap<string, string> = new Map(
  [
    'а=a б=b в=v г=g д=d е=ye ж=zh з=z и=ee к=k л=l м=m н=n о=o п=p р=r с=s т=t у=oo ф=f х=kh ц=ts ч=ch ш=sh щ=shch',
    'ъ= ы=y ь= э=e ю=yu я=ya і=ee є=ye ґ=g',
    'α=a β=v γ=g δ=d ε=e ζ=z η=ee θ=th ι=ee κ=k λ=l μ=m ν=n ξ=x ο=o π=p ρ=r σ=s ς=s τ=t υ=ee φ=f χ=h ψ=ps ω=o',
    'ß=ss æ=ae œ=oe ø=oe ł=w đ=d ð=th þ=th ı=i',
  ]
    .join(' ')
    .split(' ')
    .map((pair): [string, string] => [pair.charAt(0), pair.slice(2)]),
);

/** A run of letters and digits longer than this is not a word; Flite would spell it for minutes. */
const LONGEST_WORD = 40;

function inLatin(text: string): string {
  return text.replace(/[^\u0020-\u007e\n]/gu, (sign) => {
    const letter = OTHER_LETTERS.get(sign.toLowerCase());
    if (letter === undefined) return ' ';
    return sign === sign.toLowerCase() ? letter : letter.charAt(0).toUpperCase() + letter.slice(1);
  });
}

/**
 * Converts a text to printable ASCII and line feeds.
 *
 * @returns '' if no part of it can be spoken: no letter and no digit is left.
 */
export function speakableText(text: string): string {
  let spoken = text.normalize('NFC').replace(/\r\n?|[\u2028\u2029\v\f]/gu, '\n');
  for (const [sign, words] of SIGNS) spoken = spoken.replace(sign, words);
  // й is и with a mark, as é is e; but its sound is different.
  spoken = spoken.replace(/й/gu, 'y').replace(/ё/gu, 'yo').normalize('NFKD').replace(/\p{M}/gu, '');
  spoken = inLatin(spoken);
  for (const [sign, words] of PLAIN_SIGNS) spoken = spoken.replace(sign, words);
  spoken = spoken
    .replace(new RegExp(`[A-Za-z0-9]{${LONGEST_WORD}}(?=[A-Za-z0-9])`, 'g'), '$& ')
    .replace(/([!?,;:'"-])\1+/g, '$1')
    .replace(/[ \t]+/g, ' ')
    .replace(/ ([,.;:!?])/g, '$1')
    .replace(/ ?\n ?/g, '\n')
    .trim();
  return /[a-z0-9]/i.test(spoken) ? spoken : '';
}
