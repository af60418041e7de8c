/** A request of `POST /v1/responses`, decoded. */
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import type { DecodedBackgroundCall } from '../../text/background/context.ts';
import { RESPONSES_PARAMETERS } from '../../text/features.ts';
import { withInlinedImages, imagesOfInput, withInlinedItems } from '../../text/images.ts';
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
import type { TextCallRequest } from './detached-call.ts';
import { prepareImages } from './images.ts';
import { imageToolOf, withEarlierImages } from './response-images.ts';

/** @param body as validated. @throws {InvalidTextRequest} @throws {ShareExhaustedError} */
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
