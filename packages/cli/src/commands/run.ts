/**
 * `run`: creates a task, waits for its end and saves its outputs; a task that failed for a retryable reason is retried
 * as a new task if requested (spec §7).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { createTask } from '../create-task.ts';
import type { TaskRequest } from '../create-task.ts';
import { UsageError } from '../errors.ts';
import type { SavedFile } from '../download.ts';
import { followTask } from '../follow.ts';
import { outcomeOf, printOutcome, requireSuccess } from '../outcome.ts';
import { createProgress } from '../progress.ts';
import { readRequest } from '../request.ts';
import type { RequestOptions } from '../request.ts';
import { retryWaitSeconds } from '../retry-schedule.ts';
import { collect, count, prepareDirectory } from '../session.ts';
import type { OpenSession, Session } from '../session.ts';
import { shellWord } from '../shell-word.ts';
import { facts } from '../table.ts';
import { failureOf } from '../task-text.ts';
import { apiErrorOf } from '@darkroom/api/client/api-client';
import type { ApiError } from '@darkroom/api/client/api-client';
import type { WireEstimate } from '@darkroom/api/tasks/estimate';
import type { WireTask } from '@darkroom/api/tasks/task';

interface RunOptions extends RequestOptions {
  readonly output?: string;
  readonly idempotencyKey?: string;
  readonly estimate?: boolean;
  readonly wait: boolean;
  readonly retry?: boolean;
}

/** How often the progress is polled; events report everything else at once. */
const POLL_INTERVAL_MS = 2_000;

export function addRunCommand(program: Command, open: OpenSession): void {
  program
    .command('run')
    .description('run a model and save its outputs')
    .argument('<model>', 'a name as listed by "models"')
    .argument(
      '[input...]',
      'fields of the input: key=value, a.b=value in objects, key=@file for media; a repeated key makes a list',
    )
    .option('-o, --output <directory>', 'save the outputs there, as <taskId>-<n>.<ext>; default: print their URLs')
    .option('--input <file>', 'start from the input in a JSON file; - for stdin')
    .option('--route <route>', 'for models with several routes')
    .option('--storage <tier>', 'storage tier of the outputs: temp or persistent')
    .option('--metadata <key=value>', 'a label for the task; may be repeated', collect)
    .option('--callback <url>', 'URL that the service notifies when the task ends')
    .option('--max-cost <usd>', 'reject the task if it can cost more')
    .option('--timeout <seconds>', 'let the service end the task after that', count)
    .option('--idempotency-key <key>', 'the same key never makes a second task; default: a fresh one for each task')
    .option('--estimate', 'only print the price and the errors of the request')
    .option('--no-wait', 'only create the task, and print its id')
    .option('--retry', 'retry a task that failed for a retryable reason as a new one, after 5 s, 15 s and 45 s')
    .action(async (model: string, assignments: readonly string[], options: RunOptions) => {
      if (!options.wait && (options.retry === true || options.output !== undefined)) {
        throw new UsageError('--no-wait cannot be combined with --retry or --output, which need the end of the task');
      }
      if (options.idempotencyKey !== undefined && !/^[\x21-\x7E]{1,255}$/.test(options.idempotencyKey)) {
        throw new UsageError('--idempotency-key: want 1 to 255 visible ASCII characters');
      }
      const session = await open();
      if (options.estimate === true) {
        await estimate(session, await readRequest(session, model, assignments, options));
        return;
      }
      const directory = options.output === undefined ? undefined : await prepareDirectory(options.output);
      const request = await readRequest(session, model, assignments, options);
      if (options.wait) await runToEnd(session, request, directory, options);
      else await createOnly(session, request, options);
    });
}

async function estimate({ api, terminal, isJson, signal }: Session, body: TaskRequest): Promise<void> {
  const answer = await api.call<WireEstimate>('POST', '/tasks/estimate', { body, signal });
  if (isJson) terminal.printJson(answer);
  else {
    const lines = facts([
      ['model', answer.model ?? body.model],
      ['costs up to', answer.maxCost === null ? 'unknown' : `${answer.maxCost} ${answer.currency}`],
      ['covered', answer.balanceSufficient === null ? undefined : answer.balanceSufficient ? 'yes' : 'no'],
    ]);
    for (const line of lines) terminal.print(line);
  }
  if (answer.errors.length > 0) throw new UsageError(answer.errors.join('\n'));
  if (answer.balanceSufficient === false) throw insufficientBalance(answer);
}

/** A create would be rejected for an insufficient balance: the same exit code. */
function insufficientBalance({ maxCost, currency }: WireEstimate): ApiError {
  return apiErrorOf('insufficient_balance', `the balance does not cover ${String(maxCost)} ${currency}`);
}

async function createOnly(session: Session, request: TaskRequest, options: RunOptions): Promise<void> {
  const taskId = await create(session, request, options.idempotencyKey ?? randomUUID());
  if (session.isJson) session.terminal.printJson({ taskId });
  else session.terminal.print(taskId);
}

async function runToEnd(
  session: Session,
  request: TaskRequest,
  directory: string | undefined,
  options: RunOptions,
): Promise<void> {
  const { terminal, cli, isJson } = session;
  const attempts: string[] = [];
  for (;;) {
    const taskId = await create(session, request, attemptKey(options.idempotencyKey, attempts.length));
    attempts.push(taskId);
    const { task, files } = await waitForEnd(session, taskId, directory);
    const waitSeconds = options.retry === true ? retryWaitSeconds(task, attempts.length - 1) : undefined;
    if (waitSeconds === undefined) {
      if (isJson) terminal.printJson({ task, files, attempts });
      else printOutcome(session, task, files);
      requireSuccess(task);
      return;
    }
    terminal.say(`${taskId}: ${failureOf(task)}`);
    terminal.say(`retrying as a new task in ${waitSeconds} s`);
    await sleep(waitSeconds * 1000, undefined, { signal: cli.interrupt });
  }
}

/**
 * A key given by the user also derives the keys of the new tasks, so that the whole command can be repeated without
 * creating duplicates.
 */
function attemptKey(given: string | undefined, attempt: number): string {
  if (given === undefined) return randomUUID();
  return attempt === 0 ? given : `${given}.retry-${attempt}`;
}

async function create({ api, terminal, cli }: Session, request: TaskRequest, key: string): Promise<string> {
  try {
    return await createTask(api, request, { idempotencyKey: key, signal: cli.interrupt, say: terminal.say });
  } catch (error) {
    if (cli.interrupt.aborted) {
      terminal.say(`it is unknown whether the task was created; --idempotency-key ${key} continues it`);
    }
    throw error;
  }
}

/** Waits for a task and saves its outputs; if that is interrupted, prints how to continue. */
async function waitForEnd(
  session: Session,
  taskId: string,
  directory: string | undefined,
): Promise<{ readonly task: WireTask; readonly files: readonly SavedFile[] }> {
  const { api, terminal, cli } = session;
  const progress = createProgress(terminal);
  let task: WireTask | undefined;
  try {
    task = await followTask(
      api,
      taskId,
      { onTask: (read) => progress.onTask(read), onRemark: terminal.say },
      { signal: cli.interrupt, pollIntervalMs: POLL_INTERVAL_MS },
    );
    return { task, files: await outcomeOf(session, task, directory, progress) };
  } catch (error) {
    progress.end();
    const watch = `${cli.programName} watch ${taskId}${directory === undefined ? '' : ` -o ${shellWord(directory)}`}`;
    if (task === undefined) {
      terminal.say('The task continues.');
      terminal.say(`Wait for it:  ${watch}`);
      terminal.say(`Stop it:      ${cli.programName} cancel ${taskId}`);
    } else terminal.say(`The task has ended. Save its outputs:  ${watch}`);
    throw error;
  } finally {
    progress.end();
  }
}
