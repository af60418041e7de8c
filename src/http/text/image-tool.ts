/**
 * The built-in tool `image_generation` of a response (contract §9.9): each image is an ordinary task of the caller,
 * created as `/v1/images/generations` creates it. What can be wrong with the tool is validated before anything is held.
 */
import type { ParameterizedContext } from 'koa';
import pRetry from 'p-retry';
import { requireModel, requireScope } from '../../accounts/authenticate.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import { inputOf } from '../../catalogue/openai-input.ts';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { DatabaseUnavailableError } from '../../database/database.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { factsOf } from '@darkroom/api/facts/error-kinds';
import { newId } from '../../domain/ids.ts';
import { isTaskId } from '../../domain/workflow-ids.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import { ShareExhaustedError } from '../../limits/tenant-shares.ts';
import { attachRetry, forgetResponse, markReceived, releaseResponse } from '../../tasks/create/awaited-responses.ts';
import { InvalidTaskError } from '../../tasks/create/create.ts';
import { factsOf as factsOfBody } from '../../tasks/record/body-facts.ts';
import type { Fingerprint } from '../../tasks/record/fingerprint.ts';
import type { TaskDetail } from '../../tasks/record/read.ts';
import type { DecodedResponsesRequest, ResponsesBody } from '../../text/responses/decode-request.ts';
import type { ImageCallItem } from '../../text/responses/items.ts';
import { InvalidTextRequest } from '../../text/text-failure.ts';
import type { ImageTool, RequestedImageTool } from '../../text/tools/image-tool.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { RequestError, problemOf } from '../app/errors.ts';
import { describeFailure, inFieldsOf } from '../media-calls/failure.ts';
import type { FieldNames } from '../media-calls/failure.ts';
import { taskIdHeader } from '../media-calls/headers.ts';
import { createBudget } from '../middleware/limits.ts';
import { isAutomaticRetry, resultFingerprint, whenClosed } from '../middleware/repeated-requests.ts';
import { waitForTask, whenThereIsRoom } from './await-task.ts';
import type { TextCallRequest, WaitingClient } from './decode-call.ts';
import { imageAllowance, imageOutputOf, readImage } from './task-images.ts';
import type { ImageAllowance } from './task-images.ts';

const ENDPOINT = 'images/generations';
/** In place of the prompt that the model will write. */
const ANY_PROMPT = 'An image';
const NO_TURNS = (): Promise<void> => Promise.resolve();
/** While the database is unavailable; the same key finds the task if one was created. */
const RETRIES = { retries: 3, minTimeout: 200, factor: 3 };

/** The attempt of a client to get a response. */
interface Attempt {
  /**
   * Identifies it among the requests that wait for a task (tasks/create/awaited-responses.ts). Undefined: no client
   * waits. The images are then not read here, because each reader of the response reads them, and a rate limit delays
   * an image instead of failing it.
   */
  readonly waiter: string | undefined;
  /** Whether the client repeats a request whose response it did not get. */
  readonly isRetry: boolean;
  /** The request as it was sent: two with the same one are equal. */
  readonly sent: Readonly<Record<string, unknown>>;
}

interface ImageToolCall {
  readonly caller: Caller;
  readonly responseId: string;
  readonly textModel: Pick<TextModelDefinition, 'name' | 'imageModel'>;
  readonly requested: RequestedImageTool;
  /** For the memory of the images. */
  readonly allowance: ImageAllowance;
  readonly attempt: Attempt;
  /** A task was created, or found: all so far. */
  readonly onTask?: ((taskIds: readonly TaskId[]) => void) | undefined;
}

/**
 * @throws {ForbiddenError} the key may create no tasks, or none of this model.
 * @throws {InvalidTextRequest} the model does not exist, is no image model, or does not have a field or its value.
 */
export function prepareImageTool(http: HttpContext, call: ImageToolCall): ImageTool {
  const { caller, requested, textModel } = call;
  requireScope(caller, 'tasks:write');
  const name = requested.model ?? textModel.imageModel;
  if (name === undefined) {
    const param = `${requested.param}.model`;
    const message = `${param}: missing, and ${textModel.name} has no image model of its own; name an image model`;
    throw new InvalidTextRequest(param, message, 'missing_required_parameter');
  }
  const model = inTool(requested, () => http.catalogue.resolve(name, undefined));
  requireModel(caller, model.definition.name);
  const names: FieldNames = { endpoint: ENDPOINT, model };
  const taskOf = (prompt: string) => {
    const input = inputOf(model.definition, ENDPOINT, { ...requested.fields, prompt });
    return { model: name, input, metadata: { response_id: call.responseId } };
  };
  inTool(requested, () => {
    const violation = model.checkInput(taskOf(ANY_PROMPT).input);
    if (violation !== undefined) throw inFieldsOf(names, new InvalidTaskError(violation));
  });
  const taskIds: TaskId[] = [];
  const created = new Set<TaskId>();
  return {
    offered: requested.offered,
    maxImages: requested.maxImages,
    async start({ index, prompt }, signal) {
      const create = (): Promise<FoundTask> => findOrCreate(http, call, index, taskOf(prompt));
      try {
        const { taskId, isNew } = hasClient(call) ? await create() : await whenThereIsRoom(create, signal);
        taskIds.push(taskId);
        if (isNew) created.add(taskId);
        call.onTask?.(taskIds);
        return taskId;
      } catch (error) {
        return failedItem(prompt, inFieldsOf(names, error));
      }
    },
    async finish(taskId, { prompt }, signal) {
      if (!isTaskId(taskId)) throw new Error('a call of the tool has no task');
      const task = await waitForTask(http, { taskId, accountId: caller.accountId }, signal);
      // A task that was found may have another prompt.
      const known = created.has(taskId) ? { revised_prompt: prompt } : {};
      return { ...(await itemOf(http, call, task, names)), ...known };
    },
  };
}

function hasClient({ attempt }: ImageToolCall): boolean {
  return attempt.waiter !== undefined;
}

/** @throws {RequestError} the error of the work, about the tool of the request. */
function inTool<Result>({ param }: RequestedImageTool, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof DarkroomError)) throw error;
    const { kind, param: field = 'model', keyword, code, publicMessage } = error;
    // Of the input that a model needs in addition to a prompt, a request has no field.
    const own = field.startsWith('input') ? 'model' : field;
    const message = publicMessage.replace(`invalid request: ${own}:`, `invalid request: ${param}.${own}:`);
    throw new RequestError(kind, message, { param: `${param}.${own}`, keyword, code, cause: error });
  }
}

interface FoundTask {
  readonly taskId: TaskId;
  readonly isNew: boolean;
}

/** The task of a call: that of an attempt whose response did not arrive, or a new one. */
async function findOrCreate(
  http: HttpContext,
  call: ImageToolCall,
  index: number,
  task: Readonly<Record<string, unknown>>,
): Promise<FoundTask> {
  const { caller, attempt } = call;
  // The request and the number of the call alone: a model that is asked again may write another prompt.
  const print = resultFingerprint(caller, { 'POST /v1/responses': attempt.sent, image_generation_call: index });
  const awaited = { accountId: caller.accountId, keyId: caller.keyId, fingerprint: print };
  const { waiter, isRetry } = attempt;
  const attached =
    isRetry && waiter !== undefined
      ? await attachRetry(http.accountDatabase(awaited.accountId), awaited, waiter)
      : undefined;
  return attached === undefined || !isTaskId(attached)
    ? createTask(http, call, index, { task, print })
    : { taskId: attached, isNew: false };
}

/** Creates the task, or finds the one of the same call. */
async function createTask(
  http: HttpContext,
  { caller, responseId, attempt }: ImageToolCall,
  index: number,
  { task, print }: { readonly task: Readonly<Record<string, unknown>>; readonly print: Fingerprint },
): Promise<FoundTask> {
  const budget = createBudget(caller);
  const take = { take: () => http.rateLimiter.take(budget), giveBack: () => http.rateLimiter.giveBack(budget) };
  const large = { facts: { ...factsOfBody(task), fingerprint: print }, nextTurn: NO_TURNS };
  const key = `${responseId}/image/${index}`;
  const create = () => http.taskCreator.create(caller, task, key, take, large, attempt.waiter);
  const { taskId, isReplay, claimed } = await pRetry(create, {
    ...RETRIES,
    shouldRetry: ({ error }) => error instanceof DatabaseUnavailableError,
  });
  if (!isReplay) http.wakeLauncher(claimed);
  return { taskId, isNew: !isReplay };
}

/** @throws what is not about the request. */
function failedItem(prompt: string, error: unknown): ImageCallItem {
  const { kind, code, message } = problemOf(error);
  const facts = factsOf(kind);
  if (facts.status >= 500) throw error;
  return {
    type: 'image_generation_call',
    status: 'failed',
    result: null,
    revised_prompt: prompt,
    error: { code: code ?? facts.openAiCode ?? kind, message },
  };
}

async function itemOf(
  http: HttpContext,
  call: ImageToolCall,
  task: TaskDetail,
  names: FieldNames,
): Promise<ImageCallItem> {
  const item = { type: 'image_generation_call', task_id: task.id } as const;
  if (task.status === 'fail') {
    // It cost nothing, so a retry is to create another.
    await forgetResponse(http.database, task.id);
    const { code, message } = describeFailure(task, names);
    return { ...item, status: 'failed', result: null, error: { code, message } };
  }
  const output = imageOutputOf(http, task);
  const isRead = output !== undefined && hasClient(call);
  const result = isRead ? await readImage(http, output, call.allowance).catch(nullIfFull) : null;
  return { ...item, status: 'completed', result, ...chosen(call.requested.fields), ...factsOfOutput(output) };
}

/** The image exists and is paid: where there is no memory for it now, it can be read later. */
function nullIfFull(error: unknown): null {
  if (error instanceof ShareExhaustedError) return null;
  throw error;
}

function chosen({ quality, background }: RequestedImageTool['fields']): Pick<ImageCallItem, 'quality' | 'background'> {
  return {
    ...(typeof quality === 'string' && quality !== 'auto' ? { quality } : {}),
    ...(typeof background === 'string' && background !== 'auto' ? { background } : {}),
  };
}

function factsOfOutput(output: TaskDetail['outputs'][number] | undefined) {
  if (output === undefined) return {};
  const { width, height, mimeType } = output;
  return {
    ...(width === null || height === null ? {} : { size: `${width}x${height}` }),
    output_format: mimeType.replace(/^image\//, ''),
  };
}

/**
 * The tool of a request, if its model may call it.
 *
 * @throws as `prepareImageTool`.
 */
export function imageToolOf(
  http: HttpContext,
  request: TextCallRequest,
  call: {
    readonly model: TextModelDefinition;
    readonly body: ResponsesBody;
    readonly decoded: Pick<DecodedResponsesRequest, 'imageTool'>;
  },
): ImageTool | undefined {
  const { imageTool: requested } = call.decoded;
  if (requested === undefined) return undefined;
  const { client } = request;
  return prepareImageTool(http, {
    caller: request.caller,
    responseId: request.id,
    textModel: call.model,
    requested,
    allowance: imageAllowance(http, request),
    attempt: { waiter: client?.waiter, isRetry: client?.isRetry === true, sent: call.body },
    onTask: client?.onTask,
  });
}

/** The images of a response whose client waits. */
interface ResponseImages {
  readonly client: WaitingClient;
  /** Records whether the images arrive with the answer: an automatic retry of a client that did not get them does. */
  track<Answer>(answering: Promise<Answer>): Promise<Answer>;
}

/** @param isStreamed once the head of a stream was sent, no client repeats the request. */
export function imageTasksOf(
  http: HttpContext,
  ctx: ParameterizedContext<RequestState>,
  isStreamed: boolean,
): ResponseImages {
  const waiter = newId('req');
  let tasks: readonly TaskId[] | undefined;
  let isAnswered = isStreamed;
  return {
    client: {
      waiter,
      isRetry: isAutomaticRetry(ctx),
      onTask(taskIds) {
        if (tasks === undefined) {
          whenClosed(ctx.res, (isFinished) => {
            void recordEnd(http, tasks ?? [], isFinished && isAnswered ? undefined : waiter);
          });
        }
        tasks = taskIds;
        const [first] = taskIds;
        if (first !== undefined) ctx.state.createdTaskId = first;
        if (!ctx.headerSent) ctx.set(taskIdHeader(http), taskIds.join(', '));
      },
    },
    async track(answering) {
      const answer = await answering;
      isAnswered = true;
      return answer;
    },
  };
}

/** Never fails: what is not recorded lets a retry get the images again. @param waiter which did not get them. */
async function recordEnd(
  { database, logger }: Pick<HttpContext, 'database' | 'logger'>,
  taskIds: readonly TaskId[],
  waiter: string | undefined,
): Promise<void> {
  for (const taskId of taskIds) {
    const recorded = waiter === undefined ? markReceived(database, taskId) : releaseResponse(database, taskId, waiter);
    await recorded.catch((error: unknown) => {
      logger.warn({ err: error, taskId }, 'recording the end of a response failed');
    });
  }
}
