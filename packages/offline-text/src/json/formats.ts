/** JSON Schema's formats of strings: how one is found in a text, and how one is generated. */
import type { Random } from '@darkroom/seeded-random/random';

interface Format {
  readonly found: RegExp;
  readonly make: (random: Random) => string;
}

const DAY = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])`;
const CLOCK = String.raw`(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`;
const LABEL = String.raw`[a-z\d](?:[a-z\d-]{0,40}[a-z\d])?`;

/** The formats of the strict subset, and the URL that many clients' schemas also have. */
const FORMATS: ReadonlyMap<string, Format> = new Map([
  [
    'date-time',
    { found: new RegExp(String.raw`\b${DAY}T${CLOCK}`), make: (random) => `${day(random)}T${clock(random)}Z` },
  ],
  ['date', { found: new RegExp(String.raw`\b${DAY}\b`), make: day }],
  ['time', { found: new RegExp(String.raw`\b${CLOCK}`), make: (random) => `${clock(random)}Z` }],
  [
    'duration',
    {
      found: /\bP(?:\d{1,4}[YMD]){1,3}\b|\bPT(?:\d{1,4}[HMS]){1,3}\b/,
      make: (random) => `PT${random.integer(1, 59)}M`,
    },
  ],
  [
    'email',
    {
      found: new RegExp(String.raw`\b[\w+-]{1,40}(?:\.[\w+-]{1,40}){0,4}@${LABEL}(?:\.${LABEL}){1,4}`, 'i'),
      make: (random) => `reader${random.integer(1, 99)}@example.com`,
    },
  ],
  [
    'hostname',
    {
      found: new RegExp(String.raw`\b${LABEL}(?:\.${LABEL}){1,5}\b`, 'i'),
      make: (random) => `host${random.integer(1, 99)}.example.com`,
    },
  ],
  [
    'ipv4',
    {
      found: /\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b/,
      make: (random) => `192.0.2.${random.integer(1, 254)}`,
    },
  ],
  [
    'ipv6',
    {
      found: /\b(?:[\da-f]{1,4}:){7}[\da-f]{1,4}\b/i,
      make: (random) => `2001:db8::${random.integer(1, 254).toString(16)}`,
    },
  ],
  ['uuid', { found: /\b[\da-f]{8}-[\da-f]{4}-[1-5][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}\b/i, make: uuid }],
  [
    'uri',
    {
      found: /\bhttps?:\/\/[\w.-]{1,200}(?::\d{1,5})?(?:\/[\w./~%&=?#+-]{0,500}[\w/])?/i,
      make: (random) => `https://example.com/${random.integer(1, 999)}`,
    },
  ],
]);

/** Finds a value of the format in a text; undefined: the format is unknown. */
export function formatPattern(format: string): RegExp | undefined {
  return FORMATS.get(format)?.found;
}

/** @returns undefined: the format is unknown. */
export function makeOfFormat(format: string, random: Random): string | undefined {
  return FORMATS.get(format)?.make(random);
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

function day(random: Random): string {
  return `20${two(random.integer(20, 29))}-${two(random.integer(1, 12))}-${two(random.integer(1, 28))}`;
}

function clock(random: Random): string {
  return `${two(random.integer(0, 23))}:${two(random.integer(0, 59))}:00`;
}

function uuid(random: Random): string {
  const digits = (count: number): string =>
    Array.from({ length: count }, () => random.integer(0, 15).toString(16)).join('');
  return `${digits(8)}-${digits(4)}-4${digits(3)}-a${digits(3)}-${digits(12)}`;
}
