/** Only what expressions read is copied to the threads that evaluate them, and it makes no difference to their values. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import jsonata from 'jsonata';
import { packageFile } from '../../../src/config/package-root.ts';
import { readScope } from '../../../src/providers/http/expressions.ts';
import { expressionsOf } from '../../../src/providers/http/validate-binding.ts';
import type { HttpBinding } from '../../../src/providers/http/binding.ts';

const DOCUMENT = {
  status: 'done',
  a: {
    b: [
      { c: 1, d: 'x' },
      { c: 2, d: 'y' },
    ],
    status: 'inner',
  },
  b: { a: { status: 'deep' } },
  files: [
    { url: 'https://a.test/1', kind: 'image' },
    { url: 'https://a.test/2', kind: 'log' },
  ],
  loans: [{ id: 1 }, { id: 2 }],
  books: [{ id: 1, loans: [{ id: 9 }] }],
  'a name': 7,
  preview: 'A'.repeat(100),
};
const VARIABLES = {
  input: { prompt: 'a boat', status: 'of the input', large: 'B'.repeat(100) },
  jobId: 'job-1',
  model: 'some/model',
  media: { prompt: 'C'.repeat(100) },
};

/** Expressions that read one or two members, and those members. */
const NARROW: readonly (readonly [text: string, document: readonly string[], variables: Record<string, unknown>])[] = [
  ['status', ['status'], {}],
  ['$.status', ['status'], {}],
  ['$$.status', ['status'], {}],
  ["'/jobs/' & $jobId", [], { jobId: 'job-1' }],
  ['$input.prompt', [], { input: { prompt: 'a boat' } }],
  ['a.b[c=1].d', ['a'], {}],
  ['a.b{d: c}', ['a'], {}],
  ['files[kind = "image"].url', ['files'], {}],
  ['files.$uppercase(url)', ['files'], {}],
  ['files.{"address": url, "of": $$.status}', ['files', 'status'], {}],
  ['files[$.kind = "image"]', ['files'], {}],
  ['$map(files, function($file) { $file.url & status })', ['files', 'status'], {}],
  ['$filter(files, function($f) { $f.kind = "log" })[0].url', ['files'], {}],
  ['(status = "done" ? files : a).url', ['status', 'files', 'a'], {}],
  ['($found := a; $found.status)', ['a'], {}],
  ['$lookup({"done": "done"}, status)', ['status'], {}],
  ['a.*', ['a'], {}],
  ['a.**.c', ['a'], {}],
  ['$keys(a)', ['a'], {}],
  ['a.$keys()', ['a'], {}],
  ['files^(>url).url', ['files'], {}],
  ['`a name`', ['a name'], {}],
  ['$exists(nothing.at.all)', [], {}],
  ['{"status": status, "of": $input.prompt}', ['status'], { input: { prompt: 'a boat' } }],
];

/** Those that may read anything. */
const WIDE: readonly string[] = [
  '$',
  '$$',
  '*',
  '**.status',
  '*.status',
  '$keys()',
  '$keys($)',
  '$lookup("status")',
  '($l := $lookup; $l("status"))',
  '"status" ~> $lookup(?)',
  '$string()',
  '$spread()',
  '$each(function($value, $key) { $key })',
  '$sift(function($value, $key) { $key = "status" })',
  '$ ~> |a|{"status": "changed"}|',
  'a.b.%.%.status',
  'books@$b.loans@$l[$l.id = $b.id].{"loan": $l.id}',
  'files.$$',
  '($f := function($x)<x-:x> { $x }; $f())',
];

async function valueOf(text: string, { document, variables }: Parameters<typeof readScope>[1]): Promise<unknown> {
  try {
    return JSON.stringify(await jsonata(text).evaluate(document, { ...variables })) ?? null;
  } catch (error) {
    return (error as { readonly code?: string }).code;
  }
}

describe('what expressions read', () => {
  const whole = { document: DOCUMENT, variables: VARIABLES };

  it('is found in their syntax', () => {
    for (const [text, members, variables] of NARROW) {
      const read = readScope([text], whole);
      assert.deepEqual(Object.keys(read.document as object).toSorted(), members.toSorted(), text);
      assert.deepEqual(read.variables, variables, text);
    }
  });

  it('is everything where it cannot be known', () => {
    for (const text of WIDE) assert.deepEqual(readScope([text], whole).document, DOCUMENT, text);
    assert.deepEqual(readScope(['status'], { document: [DOCUMENT], variables: {} }).document, [DOCUMENT]);
    assert.deepEqual(readScope(['$merge([$input, {}])'], whole).variables, { input: VARIABLES.input });
  });

  it('is that of all expressions of a job together', () => {
    const { document, variables } = readScope(['status', '$exists($media) ? files', 'status & $input.prompt'], whole);

    assert.deepEqual(document, { status: DOCUMENT.status, files: DOCUMENT.files });
    assert.deepEqual(variables, { media: VARIABLES.media, input: { prompt: 'a boat' } });
  });

  it('is enough for the same value', async () => {
    for (const text of [...NARROW.map(([narrow]) => narrow), ...WIDE]) {
      assert.deepEqual(await valueOf(text, readScope([text], whole)), await valueOf(text, whole), text);
    }
  });

  it('is enough for every expression of the examples', async () => {
    const directory = packageFile('docs/examples');
    let compared = 0;
    for (const file of await readdir(directory, { recursive: true })) {
      if (!file.endsWith('.json')) continue;
      const bindings = bindingsIn(JSON.parse(await readFile(path.join(directory, file), 'utf8')));
      for (const text of bindings.flatMap((http) => expressionsOf(http).flatMap(([, one]) => one ?? []))) {
        const names = [...text.matchAll(/[A-Za-z_]\w*/g)].map(([name]) => name);
        const members = Object.fromEntries(
          names.map((name) => [name, { url: name, [name]: [name, { [name]: name }] }]),
        );
        const scope = { document: { ...DOCUMENT, ...members }, variables: { ...VARIABLES, input: members } };
        assert.deepEqual(await valueOf(text, readScope([text], scope)), await valueOf(text, scope), `${file}: ${text}`);
        compared += 1;
      }
    }
    assert.ok(compared > 20, `${compared} expressions`);
  });

  it('is nothing of an expression that cannot be parsed, so that its evaluation reports the error', () => {
    assert.deepEqual(readScope(['status ='], whole), { document: {}, variables: {} });
  });
});

function bindingsIn(value: unknown): readonly HttpBinding[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = 'http' in value && typeof value.http === 'object' ? [value.http as HttpBinding] : [];
  return [...own, ...Object.values(value).flatMap(bindingsIn)];
}
