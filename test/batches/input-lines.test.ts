/**
 * Reading the lines of a batch: their borders, their limits and their positions, however the bytes arrive; and in parts:
 * one stream for those that follow each other, another one for a jump.
 */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { MAX_LINE_BYTES, createLineSource, readLine, readLines } from '../../src/batches/input-lines.ts';
import type { InputLine } from '../../src/batches/input-lines.ts';
import { parseLine } from '../../src/batches/line.ts';
import { parseBody } from '../../src/http/bodies/parse-body.ts';

/** A store whose one object arrives in pieces of a size, and breaks off at a byte. It notes where streams begin. */
function storeOf(content: Buffer, pieceBytes: number, breakAt = Infinity) {
  const starts: number[] = [];
  const streams: Readable[] = [];
  function* piecesOf(start: number, end: number): Generator<Buffer> {
    for (let at = start; at <= end; at += pieceBytes) {
      if (at >= breakAt) throw new Error('the store is gone');
      yield content.subarray(at, Math.min(at + pieceBytes, end + 1));
    }
  }
  return {
    starts,
    areClosed: () => streams.every(({ destroyed }) => destroyed),
    read: (_: string, { start, end }: { start: number; end: number } = { start: 0, end: content.length - 1 }) => {
      starts.push(start);
      const stream = Readable.from(piecesOf(start, end));
      streams.push(stream);
      return Promise.resolve(stream);
    },
  };
}

const NEVER = new AbortController().signal;

/** Reads a content, and counts the turns that it takes. */
function readingOf(content: Buffer, pieceBytes: number) {
  const reading = {
    store: storeOf(content, pieceBytes),
    turns: 0,
    nextTurn: () => {
      reading.turns += 1;
      return Promise.resolve();
    },
  };
  return reading;
}

const inputOf = (content: Buffer) => ({ inputObjectKey: 'files/one', inputBytes: content.length });

async function linesOf(content: string | Buffer, pieceBytes = 7, from?: { line: number; byte: number }) {
  const bytes = Buffer.from(content);
  const lines: InputLine[] = [];
  for await (const line of readLines(readingOf(bytes, pieceBytes), inputOf(bytes), NEVER, from)) lines.push(line);
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
    const lines = await linesOf(content, 1_000_000);
    assert.deepEqual(texts(lines), [undefined, '{}']);
    assert.deepEqual(
      lines.map(({ sizeBytes }) => sizeBytes),
      [MAX_LINE_BYTES + 1, 2],
    );
  });

  it('that are large are read by themselves, in turns', async () => {
    const large = Buffer.alloc(2_000_000, 'x');
    const content = Buffer.concat([Buffer.from('\n\none\n'), large, Buffer.from('\nlast')]);
    const lines = await linesOf(content, 65_536);
    assert.deepEqual(texts(lines), ['one', undefined, 'last']);
    const reading = readingOf(content, 65_536);
    let parts = 0;
    const read = await readLine(reading, inputOf(content), lines[1] ?? assert.fail(), NEVER, () => (parts += 1));
    assert.ok(large.equals(read));
    assert.ok(parts > 30 && reading.turns >= 6, `${parts} parts, ${reading.turns} turns`);
  });

  /** What costs nothing to send, and had no bound where nothing came of it. */
  const worthless: readonly (readonly [string, Buffer, number])[] = [
    ['line feeds', Buffer.alloc(50_000_000, '\n'), 0],
    ['carriage returns', Buffer.alloc(50_000_000, '\r'), 0],
    ['one line of spaces', Buffer.alloc(50_000_000, ' '), 0],
    ['zero bytes', Buffer.alloc(50_000_000), 1],
    ['one line without an end', Buffer.alloc(50_000_000, 'x'), 1],
    ['lines of one byte', Buffer.from('x\n'.repeat(50_000)), 50_000],
  ];
  for (const [what, content, expected] of worthless) {
    it(`of ${what} take turns by what is read, and can be stopped`, async () => {
      const reading = readingOf(content, 65_536);
      let lines = 0;
      for await (const line of readLines(reading, inputOf(content), NEVER)) lines += line.index >= 0 ? 1 : 0;
      assert.equal(lines, expected);
      assert.ok(reading.turns >= 150 && reading.turns < 500, `${reading.turns} turns`);

      const stopping = new AbortController();
      const stopped = readingOf(content, 65_536);
      const turn = stopped.nextTurn;
      stopped.nextTurn = () => {
        if (stopped.turns === 5) stopping.abort(new Error('the process stops'));
        return turn();
      };
      await assert.rejects(async () => {
        for await (const line of readLines(stopped, inputOf(content), stopping.signal)) assert.ok(line.index >= 0);
      }, /the process stops/);
      assert.ok(stopped.turns < 10, `${stopped.turns} turns`);
    });
  }
});

describe('a line', () => {
  const parsing = {
    ...readingOf(Buffer.alloc(0), 1),
    lineBodies: {
      reserve: () => Promise.resolve(() => undefined),
      parse: (_: string, bytes: Uint8Array) => {
        const parsed = parseBody(bytes);
        return Promise.resolve(parsed.kind === 'parsed' ? { ...parsed, isLarge: false } : parsed);
      },
    },
  };
  const batch = { ...inputOf(Buffer.alloc(0)), accountId: 'acc_1', endpoint: '/v1/tasks' } as const;
  const parse = (text: string | Buffer) => {
    const bytes = Buffer.from(text);
    return parseLine(parsing, batch, { bytes, beginByte: 0, sizeBytes: bytes.length }, 'task', NEVER);
  };
  const line = (changes: object) =>
    JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/tasks', body: {}, ...changes });

  it('is a request with a name', async () => {
    const { customId, body, problem } = await parse(line({ body: { model: 'm' } }));
    assert.deepEqual([customId, body, problem], ['a', { model: 'm' }, undefined]);
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
    it(`${what} is ${code}`, async () => {
      const { problem, customId: own } = await parse(text);
      assert.equal(problem?.code, code);
      assert.equal(own, customId);
    });
  }

  it('that is too large says so', async () => {
    const line = { bytes: undefined, beginByte: 0, sizeBytes: MAX_LINE_BYTES + 1 };
    assert.equal((await parseLine(parsing, batch, line, 'task', NEVER)).problem?.code, 'line_too_large');
  });
});

const CONTENT = Buffer.from(Array.from({ length: 100 }, (_, index) => `line ${index}`).join('\n'));
const INPUT = { inputObjectKey: 'files/one', inputBytes: CONTENT.length };
const START = { line: 0, byte: 0 };

const newStore = (breakAt?: number) => storeOf(CONTENT, 7, breakAt);
const readingFrom = (store: ReturnType<typeof newStore>) => ({ store, nextTurn: () => Promise.resolve() });
const positionAfter = (lines: readonly InputLine[]) => ({
  line: (lines.at(-1)?.index ?? -1) + 1,
  byte: lines.at(-1)?.endByte ?? 0,
});

describe('the source of a batch', () => {
  it('gives all lines in parts, from one stream', async () => {
    const store = newStore();
    const source = createLineSource(readingFrom(store), INPUT, NEVER);
    const all: InputLine[] = [];
    for (let lines = await source.take(START, 8, 1_000); lines.length > 0;) {
      all.push(...lines);
      lines = await source.take(positionAfter(all), 8, 1_000);
    }
    await source.close();

    assert.deepEqual(texts(all), CONTENT.toString().split('\n'));
    assert.deepEqual(store.starts, [0]);
    assert.ok(store.areClosed());
  });

  it('reads from elsewhere where what was taken was not fed, or another process was faster', async () => {
    const store = newStore();
    const source = createLineSource(readingFrom(store), INPUT, NEVER);
    const first = await source.take(START, 3, 1_000);
    const again = await source.take(positionAfter(first.slice(0, 1)), 2, 1_000);
    const later = await source.take({ line: 40, byte: CONTENT.indexOf('line 40') }, 1, 1_000);
    await source.close();

    assert.deepEqual(texts(again), ['line 1', 'line 2']);
    assert.deepEqual([texts(later), later[0]?.index], [['line 40'], 40]);
    assert.equal(store.starts.length, 3);
    assert.ok(store.areClosed());
  });

  it('ends a part at its size in bytes, after one line at least', async () => {
    const source = createLineSource(readingFrom(newStore()), INPUT, NEVER);
    const lines = await source.take(START, 50, 13);
    const one = await source.take(positionAfter(lines), 50, 1);
    await source.close();

    assert.deepEqual([lines.length, one.length], [2, 1]);
  });

  it('begins anew after a stream that broke off', async () => {
    const store = newStore(70);
    const source = createLineSource(readingFrom(store), INPUT, NEVER);
    const lines = await source.take(START, 5, 1_000);
    await assert.rejects(source.take(positionAfter(lines), 50, 1_000), /the store is gone/);
    await assert.rejects(source.take(positionAfter(lines), 50, 1_000), /the store is gone/);
    await source.close();

    assert.equal(store.starts.length, 2);
    assert.ok(store.areClosed());
  });
});
