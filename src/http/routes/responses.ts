/**
 * `POST /v1/responses` and the stored responses (spec §4.4, contract §9). A response is stored after its last byte
 * was sent; a request for it at that moment waits for it.
 */
import { CompactionSchema, InputItemsSchema, InputTokensSchema, ResponseSchema } from '@darkroom/api/openai/response';
import { ResponsesRequestSchema } from '@darkroom/api/openai/responses-request';
import pRetry from 'p-retry';
import { Type } from 'typebox';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { newTextCallId } from '../../domain/ids.ts';
import type { DecodedBackgroundCall } from '../../text/background/context.ts';
import { eraseRecord, findRecordedStream } from '../../text/background/event-log.ts';
import type { RecordedStream } from '../../text/background/event-log.ts';
import { compactionOf, summaryRequest } from '../../text/responses/compaction.ts';
import { checkResponsesBody } from '../../text/responses/decode-request.ts';
import type { ResponsesBody } from '../../text/responses/decode-request.ts';
import { INCLUDABLE } from '../../text/responses/included.ts';
import {
  RESPONSE_RETENTION_DAYS,
  deleteResponse,
  isResponseId,
  listInputItems,
  readResponse,
  saveResponse,
  streamResponse,
} from '../../text/responses/stored-responses.ts';
import type { ResponseToSave } from '../../text/responses/stored-responses.ts';
import { InvalidTextRequest } from '../../text/text-failure.ts';
import type { HttpContext } from '../app/context.ts';
import { RequestError } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route, RouteRequest } from '../app/route.ts';
import { CREATE_BODY_BYTES } from '../bodies/json-body.ts';
import { taskIdHeader } from '../media-calls/headers.ts';
import { holdShareUntilClosed } from '../middleware/limits.ts';
import { setDeprecationHeaders } from '../middleware/response-headers.ts';
import { cancelResponse, createInBackground, sendBackgroundStream } from '../text/background-response.ts';
import { TEXT_RESPONSE_HEADERS, answerTextCall, closedSignal, sendFrames } from '../text/call.ts';
import { decodeResponseCall } from '../text/decode-call.ts';
import { imageTasksOf } from '../text/image-tool.ts';
import { imageReader } from '../text/task-images.ts';

const ResponseQuery = Type.Object(
  {
    include: Type.Optional(
      Type.Array(Type.Unsafe<string>({ type: 'string', enum: [...INCLUDABLE] }), {
        maxItems: 100,
        description:
          'Optional parts of the response. `include[]` is accepted as well. A part that was not requested at creation is rejected.',
      }),
    ),
    stream: Type.Optional(
      Type.Boolean({
        description: 'Whether to stream the events of the response again. The last one is `data: [DONE]`.',
      }),
    ),
    starting_after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 2_147_483_647,
        description: 'With `stream`: returns only events after this `sequence_number`.',
      }),
    ),
    include_obfuscation: Type.Optional(
      Type.Unsafe<false>({ type: 'boolean', enum: [false], description: 'Must be false: events are not padded.' }),
    ),
  },
  { additionalProperties: false },
);

const InputItemsQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'The maximum number of items. Default 20.' }),
    ),
    order: Type.Optional(
      Type.Unsafe<'asc' | 'desc'>({
        type: 'string',
        enum: ['asc', 'desc'],
        description: 'The order of the items. `desc`, the default, returns the last item first.',
      }),
    ),
    after: Type.Optional(Type.String({ maxLength: 256, description: 'The id of the last item of the previous page.' })),
  },
  { additionalProperties: false },
);

const ID_PARAM = { responseId: 'The id of a stored response.' };
const STORED = `A response is stored for ${RESPONSE_RETENTION_DAYS} days, unless \`store\` is false.`;

const RESPONSES_BODY = {
  kind: 'json',
  schema: ResponsesRequestSchema,
  maxBytes: CREATE_BODY_BYTES,
  isCheckedLater: true,
} as const;
const QUESTION = {
  question: { summary: 'One question', value: { model: 'darkroom/conformance-text', input: 'What is 17 * 3?' } },
};

export function responseRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/responses',
      operationId: 'createResponse',
      tag: 'Text',
      summary: 'Create a response',
      description: `Compatible with OpenAI's responses. With \`stream\`, the response is a stream of server-sent events that ends with \`data: [DONE]\`. With \`background\`, the response is returned while it is queued; poll it until it has ended. With the built-in tool \`image_generation\`, the model generates images, each as a task; the key then also needs the scope \`tasks:write\`. ${STORED}`,
      access: 'text:write',
      budget: 'text',
      headers: {
        'Idempotency-Key':
          '1-255 visible ASCII characters. With `background`: repeating a request with the same key and the same body returns the response of the first one. Keys do not expire. Without `background` it has no effect.',
        'X-Stainless-Retry-Count':
          "Sent by OpenAI's clients: above 0, the request is an automatic retry, which, with `background` and without a key, gets the response of the attempt before.",
      },
      body: { ...RESPONSES_BODY, examples: QUESTION },
      response: { kind: 'json', schema: ResponseSchema },
      otherResponses: { 200: { description: 'With `stream`: server-sent events.', mimeTypes: ['text/event-stream'] } },
      responseHeaders: {
        ...TEXT_RESPONSE_HEADERS,
        [taskIdHeader(http)]: 'With `image_generation`, if not streamed: the ids of the tasks of the images.',
      },
      errors: ['MODEL_UNAVAILABLE', 'INSUFFICIENT_BALANCE', 'IDEMPOTENCY_KEY_MISMATCH', 'NOT_FOUND'],
      async handle(request) {
        const { ctx, caller, large } = request;
        const body = checkResponsesBody(request.body);
        const resolve = (): TextModelDefinition => {
          const model = http.catalogue.resolveText(body.model);
          setDeprecationHeaders(ctx, model);
          return model;
        };
        if (body.background === true) return createInBackground(http, request, resolve, body);
        const model = resolve();
        await large?.nextTurn();
        const id = newTextCallId('responses');
        const isStreamed = body.stream === true;
        const images = imageTasksOf(http, ctx, isStreamed);
        const { call, toSave } = await decodeResponseCall(http, model, body, {
          id,
          caller,
          nextTurn: large?.nextTurn,
          until: () => closedSignal(ctx.res),
          client: images.client,
        });
        const answering = answerTextCall(http, request, {
          ...call,
          ...(toSave === undefined ? {} : { onAnswered: (response) => store(http, toSave(response)) }),
        });
        return images.track(answering);
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/responses/input_tokens',
      operationId: 'countInputTokens',
      tag: 'Text',
      summary: 'Count the input tokens of a response',
      description:
        'The input of the same request to `POST /v1/responses`, as it is counted before a call. Costs nothing.',
      access: 'text:write',
      budget: 'text',
      body: { ...RESPONSES_BODY, examples: QUESTION },
      response: { kind: 'json', schema: InputTokensSchema },
      responseHeaders: TEXT_RESPONSE_HEADERS,
      errors: ['MODEL_UNAVAILABLE'],
      async handle(request) {
        const { accountId } = request.caller;
        const { call } = await decodeForeground(http, request, checkResponsesBody(request.body));
        const [tokens = 0] = await http.textAnswers.countInput(accountId, [call.request]);
        return { object: 'response.input_tokens', input_tokens: tokens };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/responses/compact',
      operationId: 'compactResponse',
      tag: 'Text',
      summary: 'Compact a conversation',
      description:
        'The model summarises the conversation. Returns the messages of the user and an item with the summary, as the input of the next request. It is a text call like any other, and is not stored.',
      access: 'text:write',
      budget: 'text',
      body: { ...RESPONSES_BODY, examples: QUESTION },
      response: { kind: 'json', schema: CompactionSchema },
      responseHeaders: TEXT_RESPONSE_HEADERS,
      errors: ['MODEL_UNAVAILABLE', 'INSUFFICIENT_BALANCE'],
      async handle(request) {
        const body = summaryRequest(checkResponsesBody(request.body));
        const { call } = await decodeForeground(http, request, body);
        const compaction = compactionOf(call.body['input'], await answerTextCall(http, request, call));
        if (compaction !== undefined) return compaction;
        throw new RequestError('unavailable', 'the model did not write a whole summary', { code: 'upstream_invalid' });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/responses/{responseId}',
      operationId: 'getResponse',
      tag: 'Text',
      summary: 'Get a stored response',
      description: `${STORED} With \`stream\`, its events are sent again, with the sequence numbers of the original stream. The events of a response in the background that was created with \`stream\` are sent while it is in progress; no other response can be streamed before it has ended.`,
      access: 'text:write',
      params: ID_PARAM,
      query: ResponseQuery,
      response: { kind: 'json', schema: ResponseSchema },
      otherResponses: { 200: { description: 'With `stream`: server-sent events.', mimeTypes: ['text/event-stream'] } },
      errors: ['NOT_FOUND', 'RESPONSE_IN_PROGRESS'],
      async handle({ ctx, caller, params, query }) {
        const { include, stream: isStreamed = false, starting_after: startingAfter } = query;
        if (startingAfter !== undefined && !isStreamed) {
          throw new InvalidTextRequest('starting_after', 'starting_after needs stream to be true');
        }
        const complete = imageReader(http, { caller, until: () => closedSignal(ctx.res) });
        const options = { include, complete, now: http.now() };
        const id = params['responseId'] ?? '';
        if (!isStreamed) return readResponse(http.database, caller.accountId, id, options);
        // The record has what was requested at creation; anything else needs the whole response.
        const isRecorded = include === undefined && isResponseId(id);
        const recorded = isRecorded ? await findRecordedStream(http.database, caller.accountId, id) : undefined;
        if (recorded !== undefined) {
          requireEvent(recorded, startingAfter);
          await holdShareUntilClosed(http.waitingResponses, caller.accountId, ctx.res);
          await sendBackgroundStream(http, { ctx, caller }, id, startingAfter);
          return undefined;
        }
        const frames = await streamResponse(http.database, caller.accountId, id, { ...options, startingAfter });
        await holdShareUntilClosed(http.waitingResponses, caller.accountId, ctx.res);
        await sendFrames(http, { ctx, caller }, frames);
        return undefined;
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/responses/{responseId}',
      operationId: 'deleteResponse',
      tag: 'Text',
      summary: 'Delete a stored response',
      description:
        'Deletes the input and the output of the response. Responses that continue it can no longer be continued.',
      access: 'text:write',
      params: ID_PARAM,
      response: {
        kind: 'json',
        schema: Type.Object({ id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) }),
      },
      errors: ['NOT_FOUND', 'RESPONSE_IN_PROGRESS'],
      async handle({ caller: { accountId }, params }) {
        const { responseId: id = '' } = params;
        const deleted = await deleteResponse(http.database, accountId, id, { now: http.now() });
        await eraseRecord(http.database, accountId, id);
        return deleted;
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/responses/{responseId}/cancel',
      operationId: 'cancelResponse',
      tag: 'Text',
      summary: 'Cancel a response in the background',
      description:
        'Cancels a response that was created with `background` and has not ended. What was generated by then is paid. A response that has ended stays as it is, and is returned.',
      access: 'text:write',
      params: ID_PARAM,
      response: { kind: 'json', schema: ResponseSchema },
      errors: ['NOT_FOUND'],
      handle: ({ ctx, caller, params }) => cancelResponse(http, { ctx, caller }, params['responseId'] ?? ''),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/responses/{responseId}/input_items',
      operationId: 'listResponseInputItems',
      tag: 'Text',
      summary: 'List input items of a stored response',
      access: 'text:write',
      params: ID_PARAM,
      query: InputItemsQuery,
      response: { kind: 'json', schema: InputItemsSchema },
      errors: ['NOT_FOUND', 'RESPONSE_IN_PROGRESS'],
      handle: ({ caller, params, query }) =>
        listInputItems(http.database, caller.accountId, params['responseId'] ?? '', { ...query, now: http.now() }),
    }),
  ];
}

/** A request whose response is not a response object, and is not stored. */
async function decodeForeground(
  http: HttpContext,
  { ctx, caller, large }: RouteRequest<unknown, unknown>,
  body: ResponsesBody,
): Promise<DecodedBackgroundCall> {
  const model = http.catalogue.resolveText(body.model);
  setDeprecationHeaders(ctx, model);
  await large?.nextTurn();
  const id = newTextCallId('responses');
  const until = (): AbortSignal => closedSignal(ctx.res);
  return decodeResponseCall(http, model, body, { id, caller, nextTurn: large?.nextTurn, until });
}

/** A stream that is over ends with its last event; one that goes on may have later ones. */
function requireEvent({ isOver, next }: RecordedStream, startingAfter: number | undefined): void {
  if (!isOver || startingAfter === undefined || startingAfter < next) return;
  const message = `starting_after: got ${startingAfter}, and the last event of this response is ${next - 1}`;
  throw new InvalidTextRequest('starting_after', message);
}

/**
 * Stores a response. It has already been sent: where storing fails it is lost, and its reader gets "not found".
 */
async function store(http: HttpContext, response: ResponseToSave): Promise<void> {
  try {
    await pRetry(() => saveResponse(http.database, response), { retries: 3, minTimeout: 200, factor: 3 });
  } catch (err) {
    http.logger.error({ err, response: response.id }, 'storing a response failed');
  }
}
