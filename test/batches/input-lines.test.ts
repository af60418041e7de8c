/** Reading the lines of a batch: their borders, their limits and their positions, however the bytes arrive. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { MAX_LINE_BYTES, readLines } from '../../src/batches/input-lines.ts';
import type { InputLine } from '../../src/batches/input-lines.ts';
import { parseLine } from '../../src/batches/line.ts';

/** A store whose one object arrives in pieces of a size. */
function storeOf(content: Buffer, pieceBytes: number) {
  return {
    read: (_: string, { start, end }: { start: number; end: number } = { start: 0, end: content.length - 1 }) => {
      const part = content.subarray(start, end + 1);
      const pieces: Buffer[] = [];
      for (let at = 0; at < part.length; at += pieceBytes) pieces.push(part.subarray(at, at + pieceBytes));
      return Promise.resolve(Readable.from(pieces));
    },
  };
}

async function linesOf(content: string | Buffer, pieceBytes = 7, from?: { line: number; byte: number }) {
  const bytes = Buffer.from(content);
  const input = { inputObjectKey: 'files/one', inputBytes: bytes.length };
  const lines: InputLine[] = [];
  for await (const line of readLines(storeOf(bytes, pieceBytes), input, from)) lines.push(line);
  return lines;
}

const texts = (lines: readonly InputLine[]): (string | undefined)[] => lines.map(({ bytes }) => bytes?.toString());

describe('the lines of a batch', () => {
  for (const pieceBytes of [1, 2, 7, 1_000]) {
    it(`are the same in pieces of ${pieceBytes} bytes, and empty ones do not count`, async () => {
      const lines = await linesOf('{"a":"ü"}\n\n \t\r\n{"b":2}\r\nlast', pieceBytes);
      assert.deepEqual(texts(lines), ['{"a":"ü"}', '{"b":2}\r', 'last']);
      assert.deepEqual(
        lines.map(({ index }) => index),
        [0, 1, 2],
      );
    });

    it(`continue at any line in pieces of ${pieceBytes} bytes`, async () => {
      const content = 'one\n\ntwo\nthree\n';
      const all = await linesOf(content, pieceBytes);
      for (const [position, { index, endByte }] of all.entries()) {
        const rest = await linesOf(content, pieceBytes, { line: index + 1, byte: endByte });
        assert.deepEqual(rest, all.slice(position + 1));
      }
    });
  }

  it('end with nothing in an empty file', async () => {
    assert.deepEqual(await linesOf(''), []);
  });

  it('that are too large have no bytes, and the next one is read', async () => {
    const content = Buffer.concat([Buffer.alloc(MAX_LINE_BYTES + 1, 'x'), Buffer.from('\n{}')]);
    assert.deepEqual(texts(await linesOf(content, 1_000_000)), [undefined, '{}']);
  });
});

describe('a line', () => {
  const parse = (text: string | Buffer) => parseLine({ bytes: Buffer.from(text) }, '/v1/tasks');
  const line = (changes: object) =>
    JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/tasks', body: {}, ...changes });

  it('is a request with a name', () => {
    assert.deepEqual(parse(line({ body: { model: 'm' } })), {
      customId: 'a',
      body: { model: 'm' },
      problem: undefined,
    });
  });

  const deep = `${'['.repeat(40)}${']'.repeat(40)}`;
  const wrong: readonly (readonly [string, string | Buffer, string, string | null])[] = [
    ['that is not JSON', '{', 'invalid_json_line', null],
    ['that is not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'invalid_json_line', null],
    ['that is a list', '[]', 'invalid_json_line', null],
    ['that is nested too deeply', `{"custom_id":"a","body":${deep}}`, 'invalid_json_line', null],
    ['without a custom_id', line({ custom_id: undefined }), 'missing_required_parameter', null],
    ['with a number as its custom_id', line({ custom_id: 7 }), 'missing_required_parameter', null],
    ['with an empty custom_id', line({ custom_id: '' }), 'missing_required_parameter', null],
    ['with a custom_id of 513 characters', line({ custom_id: 'x'.repeat(513) }), 'missing_required_parameter', null],
    ['with another method', line({ method: 'GET' }), 'invalid_method', 'a'],
    ['with another url', line({ url: '/v1/videos' }), 'invalid_url', 'a'],
    ['without a body', line({ body: undefined }), 'invalid_type', 'a'],
    ['with a text as its body', line({ body: '{}' }), 'invalid_type', 'a'],
  ];
  for (const [what, text, code, customId] of wrong) {
    it(`${what} is ${code}`, () => {
      const { problem, customId: own } = parse(text);
      assert.equal(problem?.code, code);
      assert.equal(own, customId);
    });
  }

  it('that is too large says so', () => {
    assert.equal(parseLine({ bytes: undefined }, '/v1/tasks').problem?.code, 'line_too_large');
  });
});
