/** Values that break parsers and validators, for property tests to insert anywhere. As JSON text or as plain text. */
import fc from 'fast-check';

export const PROTOTYPE_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
] as const;

export const edgeText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\u2028',
    '\uFEFF',
    '\uFFFF',
    '\ud800',
    '\udfff',
    'e\u0301',
    '🦊',
    '\u202Etxt',
    "'; --",
    '$1',
  ),
  fc.constantFrom(...PROTOTYPE_NAMES),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(300, 5_000, 70_000).map((length) => 'x'.repeat(length)),
);
/** As text, because `JSON.stringify` cannot write the last ones. */
export const edgeNumber = fc.constantFrom(
  '0',
  '-1',
  '-0',
  '1.5',
  '1e21',
  '1e400',
  '-1e400',
  '9007199254740993',
  '0.1e-400',
);
export const edgeValue: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('null', 'true', '[]', '{}', '[null]', '[[]]', '{"":""}'),
  edgeNumber,
  edgeText.map((text) => JSON.stringify(text)),
  fc.json({ maxDepth: 4 }),
  fc.tuple(edgeText, edgeText).map(([name, text]) => `{${JSON.stringify(name)}:${JSON.stringify(text)}}`),
  fc.constantFrom(...PROTOTYPE_NAMES).map((name) => `{"${name}":{"a":1}}`),
  fc.constant(`[${'1,'.repeat(2_000)}1]`),
  fc.constant(`{${Array.from({ length: 2_000 }, (_, index) => `"k${index}":${index}`).join()}}`),
);
