/**
 * The task of a media call: created, or that of an earlier attempt whose response did not arrive, and who gets its
 * result. The task is independent of the connection: a client that disconnects leaves it running.
 */
import { requireModel } from '../../accounts/authenticate.ts';
import type { ResolvedModel } from '../../catalogue/catalogue.ts';
import { MEDIA_ENDPOINTS } from '../../catalogue/openai-endpoints.ts';
import type { MediaEndpointName } from '../../catalogue/openai-endpoints.ts';
import { newId } from '../../domain/ids.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import {
  attachRetry,
  attachRetryToOther,
  claimResponse,
  markReceived,
  releaseResponse,
} from '../../tasks/create/awaited-responses.ts';
import type { AwaitedRequest } from '../../tasks/create/awaited-responses.ts';
import { factsOf as factsOfBody } from '../../tasks/record/body-facts.ts';
import { readTask } from '../../tasks/record/read.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import type { HttpContext } from '../app/context.ts';
import { createBudget } from '../middleware/limits.ts';
import {
  isAutomaticRetry,
  mismatchFor,
  parseIdempotencyKey,
  resultFingerprint,
  whenClosed,
} from '../middleware/repeated-requests.ts';
import { setDeprecationHeaders } from '../middleware/response-headers.ts';
import { inFieldsOf } from './failure.ts';
import { taskIdHeader } from './headers.ts';
import type { MediaRequest } from './headers.ts';
import type { LiveFile } from './live-file.ts';

const NO_TURNS = (): Promise<void> => Promise.resolve();

export interface MediaCall {
  readonly endpoint: MediaEndpointName;
  readonly model: ResolvedModel;
  /** The body of the task (`CreateTaskSchema`). */
  readonly task: Readonly<Record<string, unknown>>;
  /** The request as the client sent it: two with the same one are equal. */
  readonly sent: Readonly<Record<string, unknown>>;
  /** Fields of the input whose field in the request is another than the rules of the model say. */
  readonly fieldOf?: Readonly<Record<string, string>>;
  /** Whether the request has taken its token from the budget of creates already. */
  readonly isBudgeted?: boolean;
  /** A task was created for this request. */
  onCreated?(): void;
  /** Listens to the file of the task, if the response can begin while the file is being generated. */
  listen?(taskId: TaskId): Promise<LiveFile>;
  /** The task exists, and the response waits for its end. */
  onWaiting?(): void;
}

/** The metadata of the task of a request that names its end user. */
export function metadataOf(fields: { readonly user?: string | null; readonly safety_identifier?: string | null }): {
  readonly metadata?: { readonly user: string };
} {
  const user = fields.safety_identifier ?? fields.user;
  return user == null ? {} : { metadata: { user } };
}

/**
 * Creates a task whose client polls it: the response is sent at once. Automatic retries attach as they do where the
 * response waits.
 *
 * @returns the task, in whatever state.
 */
export async function startMediaCall(http: HttpContext, request: MediaRequest, call: MediaCall): Promise<TaskDetail> {
  const { ctx, caller } = request;
  requireModel(caller, call.model.definition.name);
  setDeprecationHeaders(ctx, call.model.definition);
  const response = await startResponse(http, request, call);
  while (!(await response.isOurs()));
  const task = await readTask(http.database, response.taskId(), caller.accountId);
  response.isSent();
  return task;
}

/** The response to one request, and the task that it waits for. */
export interface MediaResponse {
  taskId(): TaskId;
  /**
   * Claims the result of the task. If the request of an equal client has it, the response may wait for another task.
   *
   * @returns false: for that one.
   */
  isOurs(): Promise<boolean>;
  /** What is sent from here on is the result, and not an error after which the client tries again. */
  isSent(): void;
}

/** Creates the task of a request, or attaches to the one of an earlier attempt. */
export async function startResponse(http: HttpContext, request: MediaRequest, call: MediaCall): Promise<MediaResponse> {
  const { ctx, caller } = request;
  const { database } = http;
  const ofAccount = http.accountDatabase(caller.accountId);
  const { path } = MEDIA_ENDPOINTS[call.endpoint];
  const print = resultFingerprint(caller, { [`POST ${path}`]: call.sent });
  const awaited: AwaitedRequest = { accountId: caller.accountId, keyId: caller.keyId, fingerprint: print };
  const key = parseIdempotencyKey(ctx.req.headersDistinct['idempotency-key']);
  // With a key, the key alone decides which requests are one.
  const waiter = key === undefined ? newId('req') : undefined;
  const attached =
    waiter === undefined || !isAutomaticRetry(ctx) ? undefined : await attachRetry(ofAccount, awaited, waiter);
  let taskId =
    attached !== undefined && isTaskId(attached)
      ? attached
      : await createTask(http, request, call, { key, waiter, print });
  const tried = [taskId];
  ctx.set(taskIdHeader(http), taskId);
  let isSent = false;
  if (waiter !== undefined) {
    whenClosed(ctx.res, (isFinished) => {
      const isReceived = isSent && isFinished;
      const recorded = isReceived ? markReceived(database, taskId) : releaseResponse(database, taskId, waiter);
      // If it is not recorded, a retry gets the result again.
      recorded.catch((error: unknown) => {
        http.logger.warn({ err: error, taskId: taskId }, 'recording the end of a response failed');
      });
    });
  }
  return {
    taskId: () => taskId,
    async isOurs() {
      if (waiter === undefined || (await claimResponse(database, taskId, waiter))) return true;
      const other = await attachRetryToOther(ofAccount, awaited, waiter, tried);
      if (other === undefined) return true;
      taskId = other;
      tried.push(other);
      ctx.set(taskIdHeader(http), other);
      return false;
    },
    isSent() {
      isSent = true;
    },
  };
}

async function createTask(
  http: HttpContext,
  { ctx, caller }: MediaRequest,
  call: MediaCall,
  { key, waiter, print }: { key: string | undefined; waiter: string | undefined; print: AwaitedRequest['fingerprint'] },
): Promise<TaskId> {
  const budget = createBudget(caller);
  const take = {
    take: () => http.rateLimiter.take(budget),
    giveBack: () => http.rateLimiter.giveBack(budget),
  };
  const facts = { ...factsOfBody(call.task), fingerprint: print };
  const large = { facts, nextTurn: NO_TURNS };
  const created = await http.taskCreator
    .create(caller, call.task, key, call.isBudgeted === true ? undefined : take, large, waiter)
    .catch((error: unknown) => Promise.reject(inFieldsOf(call, mismatchFor(caller, error)) as Error));
  if (created.isReplay) ctx.set('Idempotent-Replay', 'true');
  else {
    call.onCreated?.();
    ctx.state.createdTaskId = created.taskId;
    http.wakeLauncher(created.claimed);
  }
  return created.taskId;
}
