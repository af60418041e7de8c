/**
 * The instruments of the band: the program of each in the General MIDI sound font, what range it plays in, how loud it
 * is there, and the words by which a prompt names it.
 */

/** How an instrument may be used: a tune needs a melodic one, chords one that can play several notes. */
export type Family = 'keys' | 'plucked' | 'bowed' | 'blown' | 'voice' | 'synth' | 'bass' | 'bells' | 'pad';

export interface Instrument {
  readonly name: string;
  /** Program of the sound font, 0 to 127. */
  readonly program: number;
  /** Bank of the sound font; 0 except for variations. */
  readonly bank: number;
  readonly family: Family;
  /** Lowest and highest pitch of its natural range. */
  readonly range: readonly [low: number, high: number];
  /** Brings it to the loudness of the others, in decibels; measured with notes as it usually plays them. */
  readonly trimDb: number;
  /** Whether a note lasts as long as it is held. */
  readonly isSustained: boolean;
}

type Row = readonly [
  name: string,
  program: number,
  family: Family,
  low: number,
  high: number,
  trimDb: number,
  words: string,
  bank?: number,
];

const SUSTAINED: ReadonlySet<Family> = new Set(['bowed', 'blown', 'voice', 'pad']);
/** Instruments of decaying families that are held all the same. */
const HELD: ReadonlySet<string> = new Set([
  'organ',
  'church-organ',
  'rock-organ',
  'accordion',
  'bandoneon',
  'square',
  'saw',
  'distortion',
  'overdrive',
  'synth-strings',
  'polysynth',
  'charang',
]);

const ROWS: readonly Row[] = [
  ['piano', 0, 'keys', 28, 96, 4, 'piano|grand piano|pianist'],
  ['bright-piano', 1, 'keys', 28, 96, 6, 'bright piano'],
  ['honky-tonk', 3, 'keys', 28, 96, 6, 'honky tonk|honky-tonk|saloon piano'],
  ['rhodes', 4, 'keys', 34, 88, -1, 'rhodes|electric piano|e-piano'],
  ['wurlitzer', 5, 'keys', 34, 88, 4, 'wurlitzer|wurli|dx7'],
  ['harpsichord', 6, 'keys', 36, 88, 4, 'harpsichord|cembalo'],
  ['clavinet', 7, 'keys', 34, 84, 4, 'clavinet|clav'],
  ['celesta', 8, 'bells', 60, 96, 4, 'celesta|celeste'],
  ['glockenspiel', 9, 'bells', 67, 100, 4, 'glockenspiel'],
  ['music-box', 10, 'bells', 60, 96, -1, 'music box|musicbox'],
  ['vibraphone', 11, 'bells', 53, 89, 3, 'vibraphone|vibes'],
  ['marimba', 12, 'bells', 45, 96, 3, 'marimba'],
  ['xylophone', 13, 'bells', 65, 100, 9, 'xylophone'],
  ['tubular-bells', 14, 'bells', 55, 79, 0, 'tubular bells|bells|church bells|chimes'],
  ['dulcimer', 15, 'plucked', 48, 84, 9, 'dulcimer|hammered dulcimer|santoor|cimbalom'],
  ['organ', 16, 'keys', 36, 88, 5, 'organ|hammond|drawbar organ'],
  ['rock-organ', 18, 'keys', 36, 88, 0, 'rock organ'],
  ['church-organ', 19, 'keys', 36, 88, 0, 'church organ|pipe organ'],
  ['accordion', 21, 'keys', 48, 88, 5, 'accordion|musette'],
  ['harmonica', 22, 'blown', 60, 88, 4, 'harmonica|blues harp'],
  ['bandoneon', 23, 'keys', 48, 88, 4, 'bandoneon|concertina'],
  ['nylon-guitar', 24, 'plucked', 40, 84, 4, 'nylon guitar|classical guitar|spanish guitar|flamenco guitar'],
  ['ukulele', 24, 'plucked', 55, 84, 0, 'ukulele', 8],
  ['steel-guitar', 25, 'plucked', 40, 84, 6, 'acoustic guitar|guitar|steel guitar|guitars|strumming'],
  ['twelve-string', 25, 'plucked', 40, 84, 0, '12 string|12-string|twelve string', 8],
  ['mandolin', 25, 'plucked', 55, 88, 0, 'mandolin|bouzouki', 16],
  ['jazz-guitar', 26, 'plucked', 40, 84, 0, 'jazz guitar|hollow body'],
  ['pedal-steel', 26, 'plucked', 48, 84, -12, 'pedal steel|lap steel|slide guitar', 8],
  ['clean-guitar', 27, 'plucked', 40, 84, -1, 'electric guitar|clean guitar'],
  ['muted-guitar', 28, 'plucked', 40, 76, 7, 'muted guitar'],
  ['overdrive', 29, 'plucked', 40, 84, 0, 'overdriven guitar|overdrive|lead guitar|guitar solo'],
  ['distortion', 30, 'plucked', 36, 84, -2, 'distorted guitar|distortion|heavy guitar|heavy guitars|shredding|riffs'],
  ['upright-bass', 32, 'bass', 28, 60, -1, 'upright bass|double bass|contrabass|acoustic bass|walking bass'],
  ['finger-bass', 33, 'bass', 28, 60, -3, 'bass guitar|electric bass|bass'],
  ['picked-bass', 34, 'bass', 28, 60, -1, 'picked bass'],
  ['fretless', 35, 'bass', 28, 60, -1, 'fretless bass|fretless'],
  ['slap-bass', 36, 'bass', 28, 60, 2, 'slap bass'],
  ['synth-bass', 38, 'bass', 26, 60, 2, 'synth bass|303|acid bass|acid'],
  ['fat-bass', 39, 'bass', 26, 60, -7, '808|808 bass|sub bass|subbass'],
  ['violin', 40, 'bowed', 55, 96, -1, 'violin|violins|solo violin'],
  ['viola', 41, 'bowed', 48, 84, -1, 'viola'],
  ['cello', 42, 'bowed', 36, 72, -1, 'cello|cellos|violoncello'],
  ['tremolo', 44, 'bowed', 40, 88, 0, 'tremolo strings'],
  ['pizzicato', 45, 'plucked', 40, 88, 3, 'pizzicato'],
  ['harp', 46, 'plucked', 36, 96, 2, 'harp|lyre'],
  ['strings', 48, 'bowed', 36, 92, 1, 'strings|string section|orchestra|string quartet|orchestral strings'],
  ['slow-strings', 49, 'bowed', 36, 92, -2, 'slow strings'],
  ['synth-strings', 50, 'synth', 36, 92, -2, 'synth strings|string machine'],
  ['choir', 52, 'voice', 48, 84, 2, 'choir|choral|chant|chanting|voices|gregorian'],
  ['voices', 53, 'voice', 48, 84, 2, 'humming|ooh|oohs'],
  ['trumpet', 56, 'blown', 55, 84, -2, 'trumpet|trumpets|mariachi'],
  ['trombone', 57, 'blown', 40, 72, -8, 'trombone|trombones'],
  ['tuba', 58, 'bass', 28, 58, -2, 'tuba|sousaphone'],
  ['muted-trumpet', 59, 'blown', 55, 84, -4, 'muted trumpet'],
  ['horns', 60, 'blown', 41, 77, 0, 'french horn|french horns|horn|horns'],
  ['brass', 61, 'blown', 43, 84, -3, 'brass|brass section|fanfare|big band'],
  ['synth-brass', 62, 'synth', 40, 84, 2, 'synth brass'],
  ['soprano-sax', 64, 'blown', 56, 86, -1, 'soprano sax'],
  ['alto-sax', 65, 'blown', 49, 80, -2, 'alto sax|sax|saxophone|saxophones'],
  ['tenor-sax', 66, 'blown', 44, 76, -1, 'tenor sax|tenor saxophone'],
  ['oboe', 68, 'blown', 58, 88, -3, 'oboe'],
  ['english-horn', 69, 'blown', 52, 80, -1, 'english horn|cor anglais|duduk'],
  ['bassoon', 70, 'blown', 36, 70, -2, 'bassoon'],
  ['clarinet', 71, 'blown', 50, 88, 0, 'clarinet|klezmer clarinet'],
  ['piccolo', 72, 'blown', 74, 100, -3, 'piccolo'],
  ['flute', 73, 'blown', 60, 94, -2, 'flute|flutes'],
  ['recorder', 74, 'blown', 60, 94, -3, 'recorder'],
  ['pan-flute', 75, 'blown', 60, 92, -1, 'pan flute|panpipes|pan pipes'],
  ['shakuhachi', 77, 'blown', 55, 84, 0, 'shakuhachi|bamboo flute'],
  ['whistle', 78, 'blown', 67, 96, -7, 'tin whistle|penny whistle|whistle|whistling'],
  ['ocarina', 79, 'blown', 60, 88, -6, 'ocarina'],
  ['square', 80, 'synth', 36, 96, -5, 'square wave|chip lead|8-bit lead'],
  ['saw', 81, 'synth', 36, 96, -2, 'saw|sawtooth|synth lead|supersaw|lead synth|synth|synthesizer|synths'],
  ['calliope', 82, 'synth', 55, 96, 4, 'calliope'],
  ['charang', 84, 'synth', 40, 88, 0, 'charang'],
  ['fifths', 86, 'synth', 36, 88, 7, 'fifths lead'],
  ['fantasia', 88, 'pad', 40, 90, 5, 'fantasia'],
  ['warm-pad', 89, 'pad', 40, 88, 5, 'warm pad|pad|pads|drone|drones|ambience'],
  ['polysynth', 90, 'synth', 40, 90, 6, 'polysynth'],
  ['space-voice', 91, 'pad', 43, 88, -2, 'space voice|ethereal voices'],
  ['bowed-glass', 92, 'pad', 43, 88, 1, 'glass harmonica|bowed glass'],
  ['halo', 94, 'pad', 43, 88, 2, 'halo pad'],
  ['sweep', 95, 'pad', 43, 76, -2, 'sweep pad|sweeping pad'],
  ['crystal', 98, 'synth', 55, 96, 5, 'crystal'],
  ['atmosphere', 99, 'synth', 43, 88, 2, 'atmosphere'],
  ['sitar', 104, 'plucked', 45, 80, 3, 'sitar'],
  ['banjo', 105, 'plucked', 48, 84, 1, 'banjo'],
  ['shamisen', 106, 'plucked', 48, 84, 9, 'shamisen|pipa|oud|lute'],
  ['koto', 107, 'plucked', 48, 90, 3, 'koto|guzheng|zither'],
  ['kalimba', 108, 'bells', 55, 88, 3, 'kalimba|thumb piano|mbira'],
  ['bagpipe', 109, 'blown', 60, 80, -6, 'bagpipe|bagpipes|pipes'],
  ['fiddle', 110, 'bowed', 55, 93, -1, 'fiddle|erhu'],
  ['shenai', 111, 'blown', 55, 84, -4, 'shehnai|shenai|zurna'],
  ['steel-drums', 114, 'bells', 52, 88, 4, 'steel drum|steel drums|steelpan|steel pan'],
];

const BY_NAME = new Map<string, Instrument>(
  ROWS.map(([name, program, family, low, high, trimDb, , bank = 0]) => [
    name,
    { name, program, bank, family, range: [low, high], trimDb, isSustained: SUSTAINED.has(family) || HELD.has(name) },
  ]),
);

/** Instruments by the words of a prompt, the longest words first: `electric guitar` before `guitar`. */
export const INSTRUMENT_WORDS: readonly (readonly [words: string, name: string])[] = ROWS.flatMap(
  ([name, , , , , , words]) => words.split('|').map((word) => [word, name] as const),
).sort(([one], [other]) => other.length - one.length);

/** @throws {RangeError} the band has no such instrument. */
export function instrumentNamed(name: string): Instrument {
  const found = BY_NAME.get(name);
  if (found === undefined) throw new RangeError(`the band has no ${name}`);
  return found;
}

/** The gain that brings a drum kit to the loudness of the others, in decibels; measured with a plain groove. */
const KIT_TRIMS: Readonly<Record<number, number>> = { 0: 4, 8: 0, 16: 0, 24: 1, 25: -8, 32: -1, 40: 0, 48: 0 };

export function kitTrimDb(program: number): number {
  return KIT_TRIMS[program] ?? 0;
}
