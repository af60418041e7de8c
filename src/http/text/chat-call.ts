/** A request of `POST /v1/chat/completions`, decoded. */
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import type { DetachedTextCall } from '../../text/background/context.ts';
import { createChatEncoder } from '../../text/chat/encode-answer.ts';
import { decodeChatRequest } from '../../text/chat/decode-request.ts';
import type { ChatBody } from '../../text/chat/decode-request.ts';
import { CHAT_PARAMETERS } from '../../text/features.ts';
import { imagesOfMessages, withInlinedImages } from '../../text/images.ts';
import type { HttpContext } from '../app/context.ts';
import type { TextCallRequest } from './detached-call.ts';
import { prepareImages } from './images.ts';

/** @param body as validated. @throws {InvalidTextRequest} @throws {ShareExhaustedError} */
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
