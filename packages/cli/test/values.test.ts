/** The parts of the command line that need no service: parsing of values, rendering, decisions about retries. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fileNameOf } from '../src/download.ts';
import { FileValue, assignInput } from '../src/input-values.ts';
import { bar } from '../src/progress.ts';
import { retryWaitSeconds } from '../src/retry-schedule.ts';
import { shellWord } from '../src/shell-word.ts';
import { table } from '../src/table.ts';
import { printable } from '../src/terminal.ts';
import type { WireTask } from '@darkroom/api/tasks/task';

const MEDIA = { type: 'string', contentMediaType: 'image/*' };
const SCHEMA = {
  type: 'object',
  properties: {
    prompt: { type: 'string' },
    seed: { type: 'integer' },
    pitch: { type: 'number' },
    draft: { type: 'boolean' },
    duration: { type: ['string', 'integer'], enum: ['6', 10] },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    image: MEDIA,
    image_urls: { type: 'array', items: MEDIA },
    weights: { type: 'array', items: { type: 'number' } },
    camera: { $ref: '#/$defs/camera' },
    'a.b': { type: 'integer' },
  },
  $defs: { camera: { type: 'object', properties: { zoom: { type: 'number' }, on: { type: 'boolean' } } } },
};

/** As it is sent. */
function assigned(assignments: readonly string[], base = {}): unknown {
  const input = assignInput(base, assignments, SCHEMA);
  return JSON.parse(
    JSON.stringify(input, (_, value: unknown) => (value instanceof FileValue ? { upload: value.path } : value)),
  );
}

describe('values of an input', () => {
  it('are converted to the types of the schema', () => {
    assert.deepEqual(assigned(['seed=-3', 'pitch=0.5', 'draft=true', 'prompt=12', 'note=null']), {
      seed: -3,
      pitch: 0.5,
      draft: true,
      prompt: '12',
      note: null,
    });
    assert.deepEqual(assigned(['duration=6']), { duration: '6' });
    assert.deepEqual(assigned(['duration=10']), { duration: 10 });
    assert.deepEqual(assigned(['prompt=a=b "c" = d']), { prompt: 'a=b "c" = d' });
  });

  it('stay strings when they do not match the schema, so that the service validates them', () => {
    assert.deepEqual(assigned(['seed=1.5', 'draft=yes', 'pitch=', 'nobody=1', 'weights=x']), {
      seed: '1.5',
      draft: 'yes',
      pitch: '',
      nobody: '1',
      weights: ['x'],
    });
    assert.deepEqual(assigned(['seed=90071992547409931']), { seed: '90071992547409931' });
  });

  it('form a list when repeated or given as JSON, and never extend a list of the input file', () => {
    assert.deepEqual(assigned(['weights=1']), { weights: [1] });
    assert.deepEqual(assigned(['weights=1', 'weights=2.5']), { weights: [1, 2.5] });
    assert.deepEqual(assigned(['weights=[1, 2]', 'weights=3'], { weights: [9] }), { weights: [1, 2, 3] });
  });

  it('set members of objects by dotted paths, through references, and members with a dot in their name', () => {
    assert.deepEqual(assigned(['camera.zoom=2', 'camera.on=false'], { camera: { lens: 'wide' } }), {
      camera: { lens: 'wide', zoom: 2, on: false },
    });
    assert.deepEqual(assigned(['camera={"zoom":3}']), { camera: { zoom: 3 } });
    assert.deepEqual(assigned(['a.b=7']), { 'a.b': 7 });
    assert.deepEqual(assigned(['weights.1=5'], { weights: [1, 2] }), { weights: [1, 5] });
  });

  it('are read as files only in fields that accept media', () => {
    assert.deepEqual(assigned(['prompt=@home', 'image=@a.png', 'image_urls=@b.png', 'image_urls=@c.png']), {
      prompt: '@home',
      image: { upload: 'a.png' },
      image_urls: [{ upload: 'b.png' }, { upload: 'c.png' }],
    });
  });

  it('of any name and text reach the service as own members, even names that every object inherits', () => {
    const name = fc.string({ minLength: 1 }).filter((text) => !/[.=]/.test(text));
    fc.assert(
      fc.property(fc.oneof(name, fc.constantFrom('__proto__', 'constructor', 'toString')), fc.string(), (key, text) => {
        const input = assignInput({}, [`${key}=${text}`], { type: 'object', properties: {} });
        assert.deepEqual(Object.entries(input), [[key, text]]);
      }),
    );
    assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
    assignInput({}, ['__proto__.polluted=1', 'constructor.prototype.polluted=1'], SCHEMA);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  });

  it('are rejected as assignments when they have no name', () => {
    for (const text of ['prompt', '=x', '']) assert.throws(() => assignInput({}, [text], SCHEMA), /write key=value/);
  });
});

describe('retrying a failed task', () => {
  const failed = (retryable: boolean): WireTask =>
    ({ status: 'fail', error: { code: 'TASK_FAILED', message: '', retryable } }) as WireTask;

  it('waits 5, 15 and 45 s, and tries three times at most', () => {
    const waits = [0, 1, 2, 3, 4].map((retries) => retryWaitSeconds(failed(true), retries));

    assert.deepEqual(waits, [5, 15, 45, undefined, undefined]);
  });

  it('happens only for failures that may be temporary', () => {
    assert.equal(retryWaitSeconds(failed(false), 0), undefined);
    assert.equal(retryWaitSeconds({ status: 'success' } as WireTask, 0), undefined);
  });
});

describe('the name of a saved file', () => {
  const taskId = 'tk-svc-5GHPJG2WW25S6576YWMQVAPVE3';

  it('is the one in the URL, so that a number stays with its output', () => {
    const url = `https://example.com/media/token/${taskId}-3.mp4`;

    assert.equal(fileNameOf(taskId, { url, mimeType: 'video/mp4' }, 0), `${taskId}-3.mp4`);
  });

  it('never leaves the output directory, whatever the URL is', () => {
    const urls = ['https://x/..%2F..%2Fetc', 'https://x/a/.bashrc', `https://x/${taskId}-1.png%2F..`, 'no url', ''];
    for (const url of urls) {
      assert.equal(fileNameOf(taskId, { url, mimeType: 'image/png' }, 1), `${taskId}-2.png`);
    }
    assert.equal(fileNameOf('../x', { url: '', mimeType: 'image/../../x' }, 0), '___x-1.bin');
  });
});

describe('terminal output', () => {
  it('has a progress bar that fills, moves when the progress is unknown, and never wraps', () => {
    assert.equal(
      bar({ label: 'handling', done: 0.5 }, 3_400, 80),
      `[${'█'.repeat(15)}${'░'.repeat(15)}]   50%  handling  3 s`,
    );
    assert.match(bar({ label: 'queued', done: undefined }, 400, 80), /^\[░░█░{27}\] {2}queued {2}0 s$/);
    fc.assert(
      fc.property(
        fc.record({
          label: fc.string({ maxLength: 200 }),
          done: fc.option(fc.double({ noNaN: true }), { nil: undefined }),
        }),
        fc.nat(10_000_000),
        fc.integer({ min: 10, max: 300 }),
        (stage, elapsedMs, columns) => bar(stage, elapsedMs, columns).length < columns,
      ),
    );
  });

  it('contains no control sequences from the service', () => {
    assert.equal(printable('a\u001B[31mred\u001B]0;title\u0007\r\u009B2Jz\u0085\u001B\tb\n'), 'aredz\tb\n');
  });

  it('aligns columns, and keeps each cell on one line', () => {
    assert.deepEqual(
      table(
        ['A', 'N>'],
        [
          ['x\ny', '5'],
          ['long one', '10'],
        ],
      ),
      ['A          N', 'x y        5', 'long one  10'],
    );
  });

  it('quotes arguments so that they can be pasted into a shell', () => {
    assert.equal(shellWord('/tmp/a-b_c'), '/tmp/a-b_c');
    assert.equal(shellWord("it's $HOME"), `'it'\\''s $HOME'`);
  });
});
