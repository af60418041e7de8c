/**
 * Deliberate mistakes, each a small patch of the compiled program that takes out what guards against an attack: a
 * campaign on the mutant must report that the neighbour noticed it, or the attack shows nothing.
 */
import type { Patch } from '../../chaos/world/program-copy.ts';

export interface AttackMutant {
  /** The attack that reveals it. */
  readonly attack: string;
  readonly patches: readonly Patch[];
}

export const MUTANTS: readonly AttackMutant[] = [
  {
    // What is between lines costs as much as a line, and is read without turns.
    attack: 'batches of nothing',
    patches: [
      {
        file: 'src/batches/input-lines.js',
        find: 'while (isBetweenLines(chunk[at]))',
        replace:
          'while (isBetweenLines(chunk[at]) && Buffer.concat([chunk.subarray(at, at + 1)]).every(isBetweenLines))',
      },
      { file: 'src/batches/input-lines.js', find: 'await takeTurn(chunk.length);', replace: '' },
    ],
  },
  {
    attack: 'batches of large lines',
    patches: [
      {
        file: 'src/http/bodies/json-body.js',
        find: 'allowance.hold(Math.min(bytes, bodies.mostAtOnce));',
        replace: '',
      },
      {
        file: 'src/http/bodies/json-body.js',
        find: '=> parseJson(bytes, values, {',
        replace: "=> (() => ({ kind: 'parsed', value: JSON.parse(Buffer.from(bytes).toString()), isLarge: false }))({",
      },
    ],
  },
  {
    attack: 'answers that take long to read',
    patches: [
      {
        file: 'src/providers/answer-threads.js',
        find: 'pool.run(upstream, job, options)',
        replace: "pool.run('all', job, options)",
      },
    ],
  },
  {
    attack: 'completions with a wrong hash',
    patches: [
      {
        file: 'src/http/bodies/complete-upload.js',
        find: 'await requireHash(http, upload, { parts, hash, md5 });',
        replace: `{
          const options = { maxBytes: sizeOfParts(parts) };
          const joined = await storing(http, (begin) => begin(joinParts(http.store, parts), options));
          await discardObject(http, joined.objectKey);
          await requireHash(http, upload, { parts, hash: { partsPrint: null, md5: null, hashings: 0 }, md5 });
        }`,
      },
    ],
  },
  {
    attack: 'batches that wait',
    patches: [
      { file: 'src/batches/advance.js', find: 'const STEP_MS = 20_000;', replace: 'const STEP_MS = 2_000_000;' },
      {
        file: 'src/batches/advance.js',
        find: 'isPatient || isCrowded() ? 0 : IDLE_MS',
        replace: 'Infinity',
      },
      {
        file: 'src/processes/runners.js',
        find: '(shares.get(accountId) ?? 0) >= slots - running.size',
        replace: 'false',
      },
    ],
  },
  {
    attack: 'calls in the background',
    patches: [
      {
        file: 'src/text/money/move.js',
        find: 'Math.min(cap, Math.max(1, Math.floor(cap / 2)))',
        replace: '10 * cap',
      },
      {
        file: 'src/text/money/move.js',
        find: '`least(${cap}, greatest(1, ${cap} / 2))`',
        replace: '`(10 * ${cap})`',
      },
    ],
  },
];
