/** Requests of the endpoints of text models, decoded, whether a client waits for the answer or not (contract §9). */
import type { Caller } from '../../accounts/authenticate.ts';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import type { TaskId } from '../../domain/workflow-ids.ts';
import type { DecodedBackgroundCall, DetachedTextCall } from '../../text/background/context.ts';
import { decodeChatRequest } from '../../text/chat/decode-request.ts';
import type { ChatBody } from '../../text/chat/decode-request.ts';
import { createChatEncoder } from '../../text/chat/encode-answer.ts';
import { CHAT_PARAMETERS, RESPONSES_PARAMETERS } from '../../text/features.ts';
import { imagesOfInput, imagesOfMessages, withInlinedImages, withInlinedItems } from '../../text/images.ts';
import type { InlinedImages } from '../../text/images.ts';
import { referencedIds } from '../../text/responses/decode-input.ts';
import { decodeResponsesRequest } from '../../text/responses/decode-request.ts';
import type { DecodedResponsesRequest, ResponsesBody } from '../../text/responses/decode-request.ts';
import { DeltaRecorder, cutsToStore } from '../../text/responses/replay.ts';
import { createResponseEncoder } from '../../text/responses/encode-answer.ts';
import { fitConversation, selfContainedBody } from '../../text/responses/conversation.ts';
import { readConversation } from '../../text/responses/read-conversation.ts';
import type { CountedRequest } from '../../text/tokens.ts';
import type { HttpContext } from '../app/context.ts';
import { imageToolOf } from './image-tool.ts';
import { prepareImages } from './images.ts';
import { withEarlierImages } from './task-images.ts';

/** What is decoded, and for whom. */
export interface TextCallRequest {
  /** The id of the call. */
  readonly id: string;
  readonly caller: Caller;
  /** To be awaited before a large request is processed completely (limits/turns.ts); absent: it is small. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  /** Aborted when the answer is over: what the call has in memory is released. Made when it is asked for. */
  readonly until: () => AbortSignal;
  /** Absent: no client waits for the answer. */
  readonly client?: WaitingClient | undefined;
}

/** The client of a response, for the images that the response generates. */
export interface WaitingClient {
  /** Identifies the request among those that wait for a task (tasks/create/awaited-responses.ts). */
  readonly waiter: string;
  /** Whether it repeats a request whose response it did not get. */
  readonly isRetry: boolean;
  /** A task was created, or found: all so far. */
  readonly onTask: (taskIds: readonly TaskId[]) => void;
}

/**
 * A request of `POST /v1/chat/completions`.
 *
 * @param body as validated.
 * @throws {InvalidTextRequest}
 * @throws {ShareExhaustedError}
 */
export async function decodeChatCall(
  http: HttpContext,
  model: TextModelDefinition,
  body: ChatBody,
  request: TextCallRequest,
): Promise<DetachedTextCall> {
  const { id, nextTurn } = request;
  const decoded = decodeChatRequest(body, model);
  const inlined = await prepareImages(http, request, imagesOfMessages(decoded.messages));
  return {
    id,
    surface: 'chat',
    // Named as the client sent it.
    parameters: body['max_tokens'] == null ? CHAT_PARAMETERS : { ...CHAT_PARAMETERS, cap: 'max_tokens' },
    model,
    request: { ...decoded, messages: withInlinedImages(decoded.messages, inlined) },
    body,
    nextTurn,
    isStreamed: body.stream === true,
    isStored: false,
    encoder: (created) =>
      createChatEncoder({
        id,
        created,
        model: model.name,
        choices: decoded.choices,
        includesUsage: body.stream_options?.include_usage === true,
      }),
  };
}

/**
 * A request of `POST /v1/responses`.
 *
 * @param body as validated.
 * @throws {InvalidTextRequest}
 * @throws {ShareExhaustedError}
 */
export async function decodeResponseCall(
  http: HttpContext,
  model: TextModelDefinition,
  body: ResponsesBody,
  request: TextCallRequest,
): Promise<DecodedBackgroundCall> {
  const { id, caller, nextTurn } = request;
  const { decoded, inlined } = await decode(http, model, body, request);
  const imageTool = imageToolOf(http, request, { model, body, decoded });
  const isStreamed = body.stream === true;
  const deltas = isStreamed && decoded.isStored ? new DeltaRecorder() : undefined;
  const call: DecodedBackgroundCall['call'] = {
    id,
    surface: 'responses',
    parameters: RESPONSES_PARAMETERS,
    model,
    request: { ...decoded.request, messages: withInlinedImages(decoded.request.messages, inlined) },
    body: selfContainedBody(body, decoded, withInlinedItems(decoded.items, inlined)),
    nextTurn,
    echo: decoded.rendering.echo,
    isStreamed,
    imageTool,
    isStored: decoded.isStored,
    ...(deltas === undefined ? {} : { deltas }),
    encoder: (createdAt) =>
      createResponseEncoder({
        ...decoded.rendering,
        id,
        createdAt,
        model: model.name,
        deltas,
        isStreamed,
        now: () => http.now(),
      }),
  };
  if (!decoded.isStored) return { call };
  return {
    call,
    toSave: (response) => ({
      id,
      accountId: caller.accountId,
      previousId: body.previous_response_id ?? undefined,
      now: http.now(),
      response,
      input: decoded.input,
      nextTurn,
      deltas: deltas === undefined ? undefined : cutsToStore(response, deltas),
    }),
  };
}

async function decode(
  http: HttpContext,
  model: TextModelDefinition,
  body: ResponsesBody,
  request: TextCallRequest,
): Promise<{
  readonly decoded: DecodedResponsesRequest;
  readonly inlined: InlinedImages;
}> {
  const { accountId } = request.caller;
  const saved = await readConversation(http.database, accountId, {
    previousResponseId: body.previous_response_id ?? undefined,
    itemIds: referencedIds(body.input),
    now: http.now(),
  });
  const earlier = await withEarlierImages(http, request, model, saved);
  const decoded = decodeResponsesRequest(body, model, earlier);
  // Those of earlier turns as well: what the operator denies may have changed since.
  const stored = imagesOfInput(earlier.conversation).map(({ url }) => ({ field: 'previous_response_id', url }));
  const inlined = await prepareImages(http, request, [...imagesOfInput(decoded.input), ...stored]);
  if (decoded.truncation !== 'auto') return { decoded, inlined };
  const room = model.contextTokens - (decoded.request.maxOutputTokens ?? model.maxOutputTokens);
  const count = (requests: readonly CountedRequest[]): Promise<readonly number[]> =>
    http.textAnswers.countInput(accountId, requests);
  return { decoded: await fitConversation(decoded, room, count), inlined };
}
