/**
 * Deliberate mistakes, each a small patch of the compiled program that breaks one invariant: a campaign on the mutant
 * must report the violation, or the check of its invariant does not work.
 */
import type { Focus } from '../clients/client.ts';
import type { Invariant } from '../evidence.ts';
import { oneClockDecides } from '../invariants/clocks.ts';
import { attemptsWithinSchedule, callbacksAgree, callbacksArrive } from '../invariants/callbacks.ts';
import {
  answersArePaid,
  everyLineOnce,
  everyResponseEnds,
  linesOutwait,
  requestsAreBooked,
  sentAgainOnlyIfInterrupted,
} from '../invariants/durable.ts';
import { goneOnlyWhereLost, successStays } from '../invariants/losses.ts';
import {
  ledgerBalances,
  capturedWithinHeld,
  neverNegative,
  oneSettlement,
  textCallsArePaid,
} from '../invariants/money.ts';
import { outputsAreWhatWasMade } from '../invariants/outputs.ts';
import { noForbiddenConnection, noOrphans } from '../invariants/remains.ts';
import {
  everyTaskEnds,
  oneSubmitChain,
  oneTaskPerKey,
  servesAgain,
  statusesMoveForward,
  terminalAnswersStay,
} from '../invariants/tasks.ts';
import { deploysLoseNothing, eachItsOwnTasks, noAccountWaitsForAnother } from '../invariants/trials.ts';
import { UNHEARD_MS } from '../schedule.ts';
import type { Fault } from '../schedule.ts';
import type { Patch } from '../world/program-copy.ts';

export interface Mutant {
  readonly name: string;
  /** The invariant that it violates. */
  readonly invariant: Invariant;
  readonly patches: readonly Patch[];
  /** The faults that reveal it; absent: none. */
  readonly plan?: readonly Fault[];
  readonly focus?: Focus;
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'unsettled',
    invariant: everyTaskEnds,
    patches: [
      {
        file: 'src/tasks/lifecycle/settle.js',
        find: 'WHERE t.id = v.task_id AND t.completed_at IS NULL AND ($1',
        replace: "WHERE t.id = v.task_id AND t.completed_at IS NULL AND right(t.id, 1) > '7' AND ($1",
      },
    ],
  },
  {
    name: 'discouraged',
    invariant: servesAgain,
    patches: [
      {
        file: 'src/processes/launcher.js',
        find: 'PAUSE_AFTER_FAILURE_MS = 1_000;',
        replace: 'PAUSE_AFTER_FAILURE_MS = 1_000_000;',
      },
    ],
    // Longer than a start waits for Temporal (temporal/workflow-gateway.ts).
    plan: [{ kind: 'refuse', target: 'api-temporal', atMs: 3_000, forMs: 14_000 }],
  },
  {
    name: 'moving-end',
    invariant: terminalAnswersStay,
    patches: [
      {
        file: 'src/presenters/task.js',
        find: 'completed: task.completedAt ?? 0',
        replace: 'completed: task.completedAt === null ? 0 : Math.floor(now / 1000)',
      },
    ],
  },
  {
    name: 'status-goes-back',
    invariant: statusesMoveForward,
    patches: [
      {
        file: 'src/presenters/task.js',
        find: '        status: task.status,',
        replace: "        status: task.status === 'handling' && now % 2 === 0 ? 'queued' : task.status,",
      },
    ],
    focus: { words: '[slow 4000]' },
  },
  {
    name: 'key-forgotten',
    invariant: oneTaskPerKey,
    patches: [{ file: 'src/http/middleware/repeated-requests.js', find: 'return key;', replace: 'return undefined;' }],
  },
  {
    name: 'submitted-again',
    invariant: oneSubmitChain,
    patches: [
      {
        file: 'src/providers/replicate/replicate-provider.js',
        find: 'isSubmitRepeatable: false',
        replace: 'isSubmitRepeatable: true',
      },
    ],
    focus: { model: 'chaos/unkeyed' },
  },
  {
    name: 'now-and-then-gone',
    invariant: goneOnlyWhereLost,
    patches: [
      {
        file: 'src/tasks/record/read.js',
        find: 'if (row === undefined)',
        replace: 'if (row === undefined || (accountId !== undefined && Date.now() % 20 === 0))',
      },
    ],
  },
  {
    name: 'earlier-run-distrusted',
    invariant: successStays,
    patches: [
      {
        file: 'src/generation/earlier-work.js',
        find: 'const { outcome, files, job, mayHaveSubmitted } = record;',
        replace:
          "const { outcome, files, job, mayHaveSubmitted } = record; if (files !== undefined) throw permanentFailure('outcome_unknown');",
      },
    ],
    plan: [{ kind: 'lost-commits', target: 'postgres', atMs: 12_000, forMs: 8_000 }],
    focus: { paceMs: 400 },
  },
  {
    name: 'half-released',
    invariant: oneSettlement,
    patches: [
      {
        file: 'src/billing/ledger.js',
        find: "(2, 'release', v.held - v.captured)",
        replace: "(2, 'release', (v.held - v.captured) / 2)",
      },
    ],
    focus: { words: '[fail]' },
  },
  {
    name: 'failure-charged',
    invariant: capturedWithinHeld,
    patches: [
      {
        file: 'src/tasks/lifecycle/settle.js',
        find: 'verdict.capturedMicroUsd ?? 0n',
        replace: 'verdict.capturedMicroUsd ?? 10000n',
      },
    ],
    focus: { words: '[fail]' },
  },
  {
    name: 'hold-kept',
    invariant: ledgerBalances,
    patches: [
      {
        file: 'src/billing/ledger.js',
        find: '+ CASE WHEN c.wallet_id IS NULL THEN t.released ELSE 0 END',
        replace: '+ 0 * CASE WHEN c.wallet_id IS NULL THEN t.released ELSE 0 END',
      },
    ],
    focus: { words: '[fail]' },
  },
  {
    name: 'overdrawn',
    invariant: neverNegative,
    patches: [
      {
        file: 'src/presenters/ledger.js',
        find: 'available: formatUsd(entry.availableAfterMicroUsd),',
        replace: 'available: formatUsd(entry.availableAfterMicroUsd - 290000n),',
      },
    ],
  },
  {
    name: 'other-bytes',
    invariant: outputsAreWhatWasMade,
    patches: [
      {
        file: 'src/generation/archive.js',
        find: 'sha256: stored.sha256',
        replace: "sha256: stored.sha256.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))",
      },
    ],
  },
  {
    name: 'rejection-is-delivery',
    invariant: callbacksArrive,
    patches: [{ file: 'activities/send-callback.js', find: 'httpStatus < 300', replace: 'httpStatus < 600' }],
  },
  {
    name: 'sent-twice',
    invariant: attemptsWithinSchedule,
    patches: [
      {
        file: 'activities/send-callback.js',
        find: 'const exchange = await send(context, begun);',
        replace: 'await send(context, begun); const exchange = await send(context, begun);',
      },
    ],
  },
  {
    name: 'other-time-signed',
    invariant: callbacksAgree,
    patches: [
      {
        file: 'src/callbacks/signing.js',
        find: '.update(`${timestampSeconds}.${body}`',
        replace: '.update(`${timestampSeconds + 1}.${body}`',
      },
    ],
  },
  {
    name: 'stream-stops',
    invariant: textCallsArePaid,
    patches: [{ file: 'src/text/render-answer.js', find: 'yield DONE;', replace: '' }],
  },
  {
    name: 'response-not-saved',
    invariant: everyResponseEnds,
    patches: [
      {
        file: 'src/text/background/record-outcome.js',
        find: 'if (outcome.response !== undefined)',
        replace: 'if (false)',
      },
    ],
    focus: { work: 'background' },
  },
  {
    name: 'line-written-twice',
    invariant: everyLineOnce,
    patches: [
      {
        file: 'src/batches/results.js',
        find: 'yield `${JSON.stringify(present(batch, line, result))}\\n`;',
        replace: 'yield `${JSON.stringify(present(batch, line, result))}\\n`.repeat(2);',
      },
    ],
    focus: { work: 'batch' },
  },
  {
    name: 'suspension-is-an-outcome',
    invariant: linesOutwait,
    patches: [{ file: 'src/domain/darkroom-error.js', find: "account_suspended: 'account',", replace: '' }],
    plan: [{ kind: 'suspend', target: 'account', atMs: 3_000, forMs: 10_000 }],
  },
  {
    name: 'half-paid',
    invariant: answersArePaid,
    patches: [
      {
        file: 'src/text/background/run.js',
        find: 'settlement = made;',
        replace: 'settlement = { ...made, capturedMicroUsd: made.capturedMicroUsd / 2n };',
      },
    ],
    focus: { work: 'background' },
  },
  {
    name: 'loss-not-recorded',
    invariant: requestsAreBooked,
    patches: [
      {
        file: 'src/text/background/call-record.js',
        find: '(a.is_running AND a.is_sent)::integer',
        replace: '0',
      },
    ],
    plan: [
      { kind: 'kill', target: 'api-1', atMs: 12_000, forMs: 2_000 },
      { kind: 'kill', target: 'api-2', atMs: 20_000, forMs: 2_000 },
    ],
    focus: { work: 'background' },
  },
  {
    name: 'attempt-not-waited-for',
    invariant: sentAgainOnlyIfInterrupted,
    patches: [
      {
        file: 'src/text/background/call-record.js',
        find: '(NOT b.is_running OR b.process_id = ${own} OR (${isDead(own)}))',
        replace: '(true OR b.process_id = ${own})',
      },
    ],
    plan: [{ kind: 'unheard', target: 'temporal', atMs: 3_000, forMs: UNHEARD_MS }],
  },
  {
    name: 'slot-kept',
    invariant: noOrphans,
    patches: [
      {
        file: 'src/billing/ledger.js',
        find: "FILTER (WHERE occupied = 'running')",
        replace: "FILTER (WHERE occupied = 'running' AND captured > 0)",
      },
    ],
    focus: { words: '[fail]' },
  },
  {
    name: 'everywhere-allowed',
    invariant: noForbiddenConnection,
    patches: [
      {
        file: 'src/egress/operator-lists.js',
        find: 'export function isGranted(list, target, address) {',
        replace: 'export function isGranted(list, target, address) { return true;',
      },
    ],
    focus: { words: '[file-redirect FORBIDDEN]' },
  },
  {
    name: 'one-lock-for-all',
    invariant: noAccountWaitsForAnother,
    patches: [
      {
        file: 'src/database/database.js',
        find: "await client.query('BEGIN');",
        replace: "await client.query('BEGIN'); await client.query('SELECT pg_advisory_xact_lock(1)');",
      },
    ],
    plan: [{ kind: 'freeze', target: 'accept', atMs: 10_000, forMs: 8_000 }],
  },
  {
    name: 'own-clock',
    invariant: oneClockDecides,
    patches: [
      { file: 'src/database/database-clock.js', find: 'return Math.floor(row.ms);', replace: 'return Date.now();' },
    ],
    // Longer than the interval between two maintenance passes.
    plan: [{ kind: 'clock-skew', target: 'worker', atMs: 20_000, forMs: 75_000, byMs: 30 * 86_400_000 }],
  },
  {
    name: 'queues-shared',
    invariant: eachItsOwnTasks,
    patches: [
      {
        file: 'src/domain/workflow-ids.js',
        find: 'function taskQueueOf(name, installationId) {',
        replace: "function taskQueueOf(name, installationId) { return 'shared-' + TASK_QUEUES[name];",
      },
      {
        // Otherwise tasks that failed at the other installation would be restarted, and succeed late.
        file: 'src/tasks/repair/repair.js',
        find: "if (observed.repair === 'restart') {",
        replace: 'if (false) {',
      },
    ],
    plan: [{ kind: 'neighbour', target: 'namespace', atMs: 5_000, forMs: 10_000 }],
  },
  {
    name: 'upstreams-cut-off',
    invariant: deploysLoseNothing,
    patches: [
      {
        file: 'src/config/config.js',
        find: "upstreamGraceMs: Math.max(read.integer('UPSTREAM_GRACE_SECONDS'), read.integer('SHUTDOWN_GRACE_SECONDS')) * 1000",
        replace: 'upstreamGraceMs: 1000',
      },
    ],
    plan: [{ kind: 'deploy', target: 'workers', atMs: 8_000, forMs: 20_000 }],
  },
];
