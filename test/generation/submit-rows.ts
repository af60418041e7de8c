/**
 * Runs one row of the tables over submits: a task in the state that the row says, one attempt to submit it, and what is
 * left of it. The database, the gate of its upstreams and everything in between are real.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@darkroom/testing/wait-for';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import type { TaskId } from '../../src/domain/workflow-ids.ts';
import type { GenerationContext } from '../../src/generation/context.ts';
import { GenerationFailure } from '../../src/generation/failure.ts';
import { DeadlinePassedError } from '../../src/generation/stopping.ts';
import { submitGeneration } from '../../src/generation/submit.ts';
import { ProviderFailure, ProviderRejection, ProviderUnknown } from '../../src/providers/provider.ts';
import type { GenerationRequest, Provider, Submission, SubmitCall } from '../../src/providers/provider.ts';
import { cancelTask } from '../../src/tasks/lifecycle/cancel.ts';
import { declareIntent } from '../../src/tasks/lifecycle/intents.ts';
import { beginHandling } from '../../src/tasks/lifecycle/transitions.ts';
import { countRejections, readGeneration } from '../../src/tasks/lifecycle/generations.ts';
import type { WorkingTask } from '../../src/tasks/lifecycle/transitions.ts';
import { definition } from '../catalogue/definitions.ts';
import { body } from '../tasks/task-room.ts';
import type { TaskRoom } from '../tasks/task-room.ts';
import { newAttempt } from './attempts.ts';
import { scriptedProvider } from './scripted-provider.ts';

/** The first column of a row: how the first upstream answers. The second one accepts whatever it receives. */
type Outcome = 'rejected' | 'failed' | 'unknown';

export interface Row {
  readonly outcome: Outcome;
  readonly isRepeatable: boolean;
  /** An earlier attempt has declared an intent for the first upstream, and its worker has died. */
  readonly hasIntent: boolean;
  readonly isCancelled: boolean;
  readonly isPastDeadline: boolean;
  /** Whether these two hold before the attempt, and not only while the upstream, or an earlier attempt, is awaited. */
  readonly isBefore: boolean;
}

/** How the upstreams of a table's models work. */
export interface Upstreams {
  readonly count: 1 | 2;
  /** Whether they do the work while they are asked, or create a job. */
  readonly areSynchronous: boolean;
}

/** What a row leaves, as a table says it. */
export interface Left {
  /** How often each upstream has received the work. */
  readonly sent: string;
  /** The recorded generation, and its upstream: `intent@1`, `-`. */
  readonly generation: string;
  /** The upstreams where the task has a slot: `1`, `-`. */
  readonly slots: string;
  /** Rejections in the task's timeline. */
  readonly rejections: string;
  /** `accepted`, or how the attempt fails: for good (`outcome_unknown!`), or to be retried (`ProviderUnknown`). */
  readonly end: string;
}

/** A line of a table. */
export interface TableRow {
  readonly title: string;
  readonly row: Row;
  readonly left: Left;
}

/**
 * The rows of a table, whose first line names its columns. Before the bar: what the first upstream answers; whether the
 * submit is `repeatable`, or may be sent `once`; whether there is an `intent`; whether the task is `cancelled`, and
 * `late` for its deadline.
 */
export function parseTable(text: string, isBefore = false): readonly TableRow[] {
  const [, ...lines] = text.trim().split('\n');
  return lines.map((line) => {
    const [given = '', found = ''] = line.split('|').map((part) => part.trim());
    const [outcome = '', submit, intent, cancel, late] = given.split(/\s+/);
    assert.ok(isOutcome(outcome), line);
    const [sent = '', generation = '', slots = '', rejections = '', end = ''] = found.split(/\s{2,}/);
    return {
      title: given.replaceAll(/\s+/g, ' '),
      row: {
        outcome,
        isRepeatable: submit === 'repeatable',
        hasIntent: intent === 'intent',
        isCancelled: cancel === 'cancelled',
        isPastDeadline: late === 'late',
        isBefore,
      },
      left: { sent, generation, slots, rejections, end },
    };
  });
}

function isOutcome(word: string): word is Outcome {
  return word === 'rejected' || word === 'failed' || word === 'unknown';
}

const MINUTE_SECONDS = 60;
/** Long enough to begin what the deadline then ends. */
const SHORT_SECONDS = 4;
/** An earlier attempt whose mark is this old is dead; an older one may have lost the database (live-submit.ts). */
const DEAD_SECONDS = 11;
/** When a task is cancelled that waits for an earlier attempt. */
const WAITED_MS = 300;
const CANCELLED = new Error('cancelled');
const MARK = { rejected: 'provider_unavailable', failed: 'content_rejected' } as const;

/** The model of one row, whose upstreams no other row uses. */
export function modelOf(name: string, { isRepeatable }: Row, { count, areSynchronous }: Upstreams): ModelDefinition {
  const protocol = protocolOf(isRepeatable, areSynchronous);
  const upstreams = Array.from({ length: count }, (_each, position) => ({
    protocol,
    model: 'images',
    id: `${name}-${position + 1}`,
    concurrency: 1,
  }));
  return definition({ name, routes: { default: { upstreams } } });
}

function protocolOf(isRepeatable: boolean, isSynchronous: boolean): string {
  return `${isRepeatable ? 'repeatable' : 'once'}-${isSynchronous ? 'answer' : 'job'}`;
}

/** What a row makes of a submit that reaches an upstream. */
type Script = (upstream: number, call: SubmitCall) => Promise<Submission>;

/** The providers of all rows. */
export interface RowProviders {
  readonly byProtocol: Readonly<Record<string, Provider>>;
  readonly scripts: Map<TaskId, Script>;
}

export function rowProviders(): RowProviders {
  const scripts = new Map<TaskId, Script>();
  const submit = ({ taskId, upstream }: GenerationRequest, call: SubmitCall): Promise<Submission> => {
    const script = scripts.get(taskId) ?? assert.fail('nothing is to be submitted');
    return script(Number(upstream.id?.at(-1)), call);
  };
  const byProtocol: Record<string, Provider> = {};
  for (const isSubmitRepeatable of [true, false]) {
    for (const worksWhileSubmitting of [true, false]) {
      const protocol = protocolOf(isSubmitRepeatable, worksWhileSubmitting);
      byProtocol[protocol] = scriptedProvider({ protocol, isSubmitRepeatable, worksWhileSubmitting, submit });
    }
  }
  return { byProtocol, scripts };
}

/** @param model of this row. */
export async function runRow(
  room: TaskRoom,
  context: GenerationContext,
  scripts: RowProviders['scripts'],
  { model, row, upstreams }: { readonly model: string; readonly row: Row; readonly upstreams: Upstreams },
): Promise<Left> {
  const task = await beginRow(room, context, model, row);
  const attemptEnd = new AbortController();
  const cancel = async (): Promise<void> => {
    await cancelTask(room.database, task.accountId, task.id, 7);
    attemptEnd.abort(CANCELLED);
  };
  if (row.isBefore && row.isCancelled) await cancelTask(room.database, task.accountId, task.id, 7);
  if (row.isBefore && row.isPastDeadline) await waitForDeadline(task);

  const sent = [0, 0];
  scripts.set(task.id, async (upstream, call) => {
    sent[upstream - 1] = (sent[upstream - 1] ?? 0) + 1;
    if (upstream === 2) return accepted(upstreams);
    // Whatever else may stop a submit, its deadline does.
    if (row.isPastDeadline) await waitFor('the deadline stops it', () => call.signal.aborted, 20);
    if (row.isCancelled) await cancel();
    throw errorOf(row.outcome);
  });
  const attempt = row.hasIntent
    ? newAttempt({ number: 2, earlierDetails: { upstreamIndex: 0, rejections: 0 }, signal: attemptEnd.signal })
    : newAttempt({ signal: attemptEnd.signal });
  const input = {
    taskId: task.id,
    accountId: task.accountId,
    model,
    handlingSeconds: MINUTE_SECONDS,
    archivingSeconds: MINUTE_SECONDS,
    isUpstream: true,
  };
  const end = submitGeneration(context, attempt, input).then(
    () => 'accepted',
    (error: unknown) => nameOf(error),
  );
  // Nothing is sent by an attempt that waits for an earlier one.
  const waits = row.hasIntent && !row.isRepeatable && !row.isBefore;
  if (waits && row.isCancelled) await sleep(WAITED_MS).then(cancel);
  return { ...(await leftOf(room, task, await end)), sent: sent.slice(0, upstreams.count).join(' ') };
}

/** A task in handling. */
async function beginRow(
  room: TaskRoom,
  { upstreams }: GenerationContext,
  model: string,
  { hasIntent, isPastDeadline }: Row,
): Promise<WorkingTask> {
  const { taskId } = await room.creator.create(await room.newCaller(), body({ model }), undefined);
  const { task } = await beginHandling(room.database, taskId, isPastDeadline ? SHORT_SECONDS : MINUTE_SECONDS);
  if (!hasIntent) return task;
  const upstreamName = `${model}-1`;
  const entry = await upstreams.gate.enter(
    { name: upstreamName, concurrency: 1 },
    { taskId, accountId: task.accountId },
  );
  assert.equal(entry.kind, 'open');
  assert.ok(await declareIntent(room.database, taskId, { upstreamName, upstreamIndex: 0, label: 1 }));
  await room.rows(
    'UPDATE generations SET updated_at = updated_at - make_interval(secs => $2) WHERE task_id = $1',
    taskId,
    DEAD_SECONDS,
  );
  return task;
}

function waitForDeadline({ deadlineAt }: WorkingTask): Promise<void> {
  return waitFor('the deadline has passed', () => performance.now() > (deadlineAt ?? Infinity) + 50, 20);
}

function accepted({ areSynchronous }: Upstreams): Submission {
  if (!areSynchronous) return { kind: 'job', jobId: 'job-1' };
  return { kind: 'done', files: [{ from: 'url', url: 'https://files.example.com/one.png' }] };
}

function errorOf(outcome: Outcome): Error {
  if (outcome === 'rejected') return new ProviderRejection(MARK.rejected, { retryAfterMs: 1_000 });
  if (outcome === 'failed') return new ProviderFailure(MARK.failed);
  return new ProviderUnknown({ code: 'ECONNRESET' });
}

function nameOf(error: unknown): string {
  if (error === CANCELLED) return 'cancellation';
  if (error instanceof DeadlinePassedError) return 'deadline';
  if (error instanceof GenerationFailure) return `${error.reason}${error.isPermanent ? '!' : ''}`;
  return error instanceof Error ? error.name : String(error);
}

async function leftOf(room: TaskRoom, { id }: WorkingTask, end: string): Promise<Omit<Left, 'sent'>> {
  const generation = await readGeneration(room.database, id);
  const slots = await room.rows<{ upstream: string }>(
    'SELECT upstream FROM upstream_slots WHERE task_id = $1 ORDER BY upstream',
    id,
  );
  const positions = slots.map(({ upstream }) => upstream.at(-1));
  return {
    generation: generation === undefined ? '-' : `${generation.state}@${generation.upstreamIndex + 1}`,
    slots: positions.join(' ') || '-',
    rejections: String(await countRejections(room.database, id)),
    end,
  };
}
