/** The verdict of an attack campaign detects what it is meant to detect. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClientLine } from '../../chaos/records.ts';
import type { AttackLine } from './attack-log.ts';
import {
  CHILD_MB,
  PROCESS_MB,
  validateAnswers,
  validateAttacks,
  validateLatencies,
  validateMemory,
  latenciesOf,
} from './verdict.ts';

const IDLE = { begun: 0, ended: 1_000_000 };
const ATTACKED = { begun: 1_000_000, ended: 2_000_000 };

function line(begun: number, ms: number, status = 200): ClientLine {
  return { kind: 'list', account: 'a', begun, ended: begun + ms, outcome: { kind: 'answer', status, errorCode: '' } };
}

/** A hundred for each phase, of which the slowest two took longer. */
function lines(idleMs: number, attackedMs: number): readonly ClientLine[] {
  return [IDLE, ATTACKED].flatMap(({ begun }, place) =>
    Array.from({ length: 100 }, (_, index) =>
      line(begun + index * 1_000, index < 98 ? 5 : place === 0 ? idleMs : attackedMs),
    ),
  );
}

const problems = (all: readonly ClientLine[]) => [
  ...validateAnswers(all),
  ...validateLatencies(latenciesOf(all, IDLE, ATTACKED)),
];

describe('the verdict of an attack campaign', () => {
  it('is a pass when the neighbour was served as before', () => {
    assert.deepEqual(problems(lines(40, 120)), []);
  });

  it('names requests that became more than three times as slow', () => {
    assert.deepEqual(problems(lines(40, 121)), [
      'the p99 of all is 121 ms under attack, 3.0 times the 40 ms without',
      'the p99 of list is 121 ms under attack, 3.0 times the 40 ms without',
    ]);
  });

  it('names every request of the neighbour that was rejected or had no response', () => {
    const unanswered: ClientLine = { ...line(1, 1), outcome: { kind: 'unknown', why: 'ECONNRESET' } };

    assert.deepEqual(problems([...lines(40, 40), line(5, 5, 503), line(5, 5, 429), unanswered]), [
      'a list of the neighbour was answered 503 ',
      'a list of the neighbour was answered 429 ',
      'a list of the neighbour was not answered: ECONNRESET',
    ]);
  });

  it('measures a task from its create to the response that reports its end, and apart from requests', () => {
    const outcome = { kind: 'answer', status: 200, errorCode: '' } as const;
    const wish = { account: 'a', key: 'k', marker: 'm', model: 'x', prompt: 'p', callbackPath: undefined };
    const create: ClientLine = {
      kind: 'create',
      ...wish,
      attempt: 0,
      api: 0,
      begun: 10,
      ended: 20,
      outcome,
      taskId: 't',
    };
    const read = (status: string, begun: number): ClientLine => {
      const billing = { held: '0', captured: '0', released: '0' };
      const task = { taskId: 't', model: 'x', status, created: 0, completed: 0, billing };
      return { kind: 'read', account: 'a', taskId: 't', begun, ended: begun + 5, outcome, task };
    };

    const latencies = latenciesOf([create, read('handling', 500), read('success', 2_000)], IDLE, ATTACKED);

    const [all, task] = ['all', 'task'].map((kind) => latencies.find((each) => each.kind === kind)?.idle);
    assert.deepEqual(task, { count: 1, p50: 1_995, p99: 1_995 });
    assert.deepEqual(all, { count: 3, p50: 5, p99: 10 });
  });

  const attack = (status: number, hasRetryAfter = false): AttackLine => ({
    attacker: 'a',
    attack: 'large JSON',
    ms: 1,
    status,
    errorCode: '',
    hasRetryAfter,
  });

  it('accepts that an attacker is rejected with Retry-After, but not an internal error', () => {
    assert.deepEqual(validateAttacks([attack(400), attack(429), attack(503, true), attack(0)], ['large JSON']), []);
    assert.deepEqual(validateAttacks([attack(500), attack(500), attack(503)], ['large JSON']), [
      'large JSON: answered 500  (2 times)',
      'large JSON: answered 503  (1 times)',
    ]);
  });

  it('names an attack that had no effect', () => {
    assert.match(validateAttacks([attack(0)], ['large JSON', 'lists']).join('; '), /^large JSON: no.*; lists: no/);
  });

  it('names a process, or a child of one, that grew beyond its limit', () => {
    const sample = { at: 1, part: 'api-1', processMb: PROCESS_MB, largestChildMb: CHILD_MB };

    assert.deepEqual(validateMemory([sample]), []);
    assert.equal(validateMemory([sample, { ...sample, processMb: PROCESS_MB + 1, largestChildMb: 9_999 }]).length, 2);
  });
});
