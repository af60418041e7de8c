/**
 * `POST /v1/responses` and the stored responses (spec §4.4, contract §9). A response is stored after its last byte
 * was sent; a request for it at that moment waits for it.
 */
import type { ServerResponse } from 'node:http';
import type { Context, Next } from 'koa';
import pRetry from 'p-retry';
import { Type } from 'typebox';
import { newTextCallId } from '../../domain/ids.ts';
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { RESPONSES_PARAMETERS } from '../../text/features.ts';
import { referencedIds } from '../../text/responses/decode-input.ts';
import { withInlinedImages } from '../../text/inline-images.ts';
import type { InlinedImages } from '../../text/inline-images.ts';
import { imagesOfInput, withInlinedItems } from '../../text/responses/input-images.ts';
import { checkResponsesBody, decodeResponsesRequest } from '../../text/responses/decode-request.ts';
import type { DecodedResponsesRequest, ResponsesBody } from '../../text/responses/decode-request.ts';
import { DeltaRecorder } from '../../text/responses/delta-cuts.ts';
import { createResponseEncoder } from '../../text/responses/encode-answer.ts';
import { fitConversation } from '../../text/responses/fit-conversation.ts';
import { INCLUDABLE } from '../../text/responses/included.ts';
import { readConversation } from '../../text/responses/read-conversation.ts';
import { cutsToStore } from '../../text/responses/replay.ts';
import { selfContainedBody } from '../../text/responses/self-contained.ts';
import { InputItemsSchema, ResponseSchema } from '@darkroom/api/openai/response';
import { ResponsesRequestSchema } from '@darkroom/api/openai/responses-request';
import {
  RESPONSE_RETENTION_DAYS,
  deleteResponse,
  listInputItems,
  readResponse,
  saveResponse,
  streamResponse,
} from '../../text/responses/stored-responses.ts';
import type { ResponseToSave } from '../../text/responses/stored-responses.ts';
import { InvalidTextRequest } from '../../text/text-failure.ts';
import type { CountedRequest } from '../../text/tokens.ts';
import type { Caller } from '../../accounts/authenticate.ts';
import type { HttpContext } from '../app/context.ts';
import { setDeprecationHeaders } from '../middleware/deprecation.ts';
import { CREATE_BODY_BYTES } from '../bodies/json-body.ts';
import { notFound } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { taskIdHeader } from '../media-calls/call.ts';
import { prepareImages } from '../text/images.ts';
import { TEXT_RESPONSE_HEADERS, answerTextCall } from '../text/call.ts';
import { imageReader, imageToolOf, withEarlierImages } from '../text/response-images.ts';
import { sendStoredStream } from '../text/stream.ts';

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

/** Part of OpenAI's API and not served here; the patterns below would take the names for ids of responses. */
const UNSERVED = /^\/v1\/responses\/(?:compact|input_tokens)(?:\/|$)/;

/** Middleware before the router. @throws {RequestError} 404, whatever the method. */
export function rejectUnservedResponsePaths(ctx: Context, next: Next): Promise<unknown> {
  if (UNSERVED.test(ctx.path)) throw notFound();
  return next();
}

export function responseRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/responses',
      operationId: 'createResponse',
      tag: 'Text',
      summary: 'Create a response',
      description: `Compatible with OpenAI's responses. With \`stream\`, the response is a stream of server-sent events that ends with \`data: [DONE]\`. With the built-in tool \`image_generation\`, the model generates images, each as a task; the key then also needs the scope \`tasks:write\`. ${STORED}`,
      access: 'text:write',
      budget: 'text',
      body: {
        kind: 'json',
        schema: ResponsesRequestSchema,
        maxBytes: CREATE_BODY_BYTES,
        isCheckedLater: true,
        examples: {
          question: {
            summary: 'One question',
            value: { model: 'darkroom/conformance-text', input: 'What is 17 * 3?' },
          },
        },
      },
      response: { kind: 'json', schema: ResponseSchema },
      otherResponses: { 200: { description: 'With `stream`: server-sent events.', mimeTypes: ['text/event-stream'] } },
      responseHeaders: {
        ...TEXT_RESPONSE_HEADERS,
        [taskIdHeader(http)]: 'With `image_generation`, if not streamed: the ids of the tasks of the images.',
      },
      errors: ['MODEL_UNAVAILABLE', 'INSUFFICIENT_BALANCE'],
      async handle(request) {
        const { ctx, caller, large } = request;
        const body = checkResponsesBody(request.body);
        const model = http.catalogue.resolveText(body.model);
        setDeprecationHeaders(ctx, model);
        await large?.nextTurn();
        const { decoded, inlined } = await decode(http, request, body, model);
        const id = newTextCallId('responses');
        const { imageTool, track } = imageToolOf(http, request, { id, model, body, decoded });
        const isStreamed = body.stream === true;
        const deltas = isStreamed && decoded.isStored ? new DeltaRecorder() : undefined;
        const answering = answerTextCall(http, request, {
          id,
          surface: 'responses',
          parameters: RESPONSES_PARAMETERS,
          model,
          request: { ...decoded.request, messages: withInlinedImages(decoded.request.messages, inlined) },
          body: selfContainedBody(body, decoded, withInlinedItems(decoded.items, inlined)),
          nextTurn: large?.nextTurn,
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
          ...(decoded.isStored
            ? {
                onAnswered: (response) =>
                  store(http, {
                    id,
                    accountId: caller.accountId,
                    previousId: body.previous_response_id ?? undefined,
                    now: http.now(),
                    response,
                    input: decoded.input,
                    nextTurn: large?.nextTurn,
                    deltas: deltas === undefined ? undefined : cutsToStore(response, deltas),
                  }),
              }
            : {}),
        });
        return track(answering);
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/responses/{responseId}',
      operationId: 'getResponse',
      tag: 'Text',
      summary: 'Get a stored response',
      description: `${STORED} With \`stream\`, its events are sent again, with the sequence numbers of the original stream. A response that is still in progress cannot be streamed here.`,
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
        const complete = imageReader(http, { ctx, caller });
        const options = { include, complete, now: http.now() };
        const id = params['responseId'] ?? '';
        if (!isStreamed) return readResponse(http.database, caller.accountId, id, options);
        const frames = await streamResponse(http.database, caller.accountId, id, { ...options, startingAfter });
        await sendStoredStream(http, { ctx, caller }, frames);
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
      handle: ({ caller, params }) =>
        deleteResponse(http.database, caller.accountId, params['responseId'] ?? '', { now: http.now() }),
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

async function decode(
  http: HttpContext,
  request: { readonly caller: Caller; readonly ctx: { readonly res: ServerResponse } },
  body: ResponsesBody,
  model: TextModelDefinition,
): Promise<{
  readonly decoded: DecodedResponsesRequest;
  readonly inlined: InlinedImages;
}> {
  const { accountId } = request.caller;
  const stored = await readConversation(http.database, accountId, {
    previousResponseId: body.previous_response_id ?? undefined,
    itemIds: referencedIds(body.input),
    now: http.now(),
  });
  const earlier = await withEarlierImages(http, request, model, stored);
  const decoded = decodeResponsesRequest(body, model, earlier);
  // Those of earlier turns as well: what the operator denies may have changed since.
  const before = imagesOfInput(earlier.conversation).map(({ url }) => ({ field: 'previous_response_id', url }));
  const inlined = await prepareImages(http, request, [...imagesOfInput(decoded.input), ...before]);
  if (decoded.truncation !== 'auto') return { decoded, inlined };
  const room = model.contextTokens - (decoded.request.maxOutputTokens ?? model.maxOutputTokens);
  const count = (requests: readonly CountedRequest[]): Promise<readonly number[]> =>
    http.textAnswers.countInput(accountId, requests);
  return { decoded: await fitConversation(decoded, room, count), inlined };
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
