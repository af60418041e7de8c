/**
 * Lyrics designed to be hard to parse are parsed within a moment: they used to occupy an engine thread for many
 * minutes.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readLyrics } from '../../src/song/lyrics.ts';

/** The maximum length in the model's schema (models/song.json). */
const LONGEST = 3_000;
/** Of processor time; the attack took more than 300 s. */
const WITHIN_MS = 5_000;

const PIECES = [
  ' ',
  '\t',
  '\u00a0',
  ' (',
  '( ',
  'x ',
  '[ ',
  ' [',
  '] ',
  '2 x',
  ' x2',
  ': ',
  '- ',
  '* ',
  '. ',
  '"',
  "' ",
];

describe('lyrics of 3,000 characters', () => {
  for (const piece of PIECES) {
    it(`of ${JSON.stringify(piece)} alone, and between words, are read within a moment`, () => {
      const before = process.cpuUsage();
      for (const [first, last] of [
        ['', ''],
        ['a', 'z'],
        ['[', 'z'],
      ] as const) {
        const length = LONGEST - first.length - last.length;
        readLyrics(`${first}${piece.repeat(Math.ceil(length / piece.length)).slice(0, length)}${last}`);
      }
      // Not by wall-clock time: other processes may use the processor for a while.
      assert.ok(process.cpuUsage(before).user / 1000 < WITHIN_MS);
    });
  }
});
