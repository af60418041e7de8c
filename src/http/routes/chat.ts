/**
 * `POST /v1/chat/completions` (spec §4.4, contract §9). It bypasses Temporal: the answer is generated, or fetched,
 * while the client waits.
 */
import { newTextCallId } from '../../domain/ids.ts';
import { checkChatBody, decodeChatRequest } from '../../text/chat/decode-request.ts';
import { createChatEncoder } from '../../text/chat/encode-answer.ts';
import { ChatCompletionSchema } from '@darkroom/api/openai/chat-completion';
import { ChatRequestSchema } from '@darkroom/api/openai/chat-request';
import { CHAT_PARAMETERS } from '../../text/features.ts';
import { imagesOfMessages } from '../../text/image-addresses.ts';
import { withInlinedImages } from '../../text/inline-images.ts';
import type { HttpContext } from '../app/context.ts';
import { setDeprecationHeaders } from '../middleware/deprecation.ts';
import { CREATE_BODY_BYTES } from '../bodies/json-body.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { prepareImages } from '../text/images.ts';
import { TEXT_RESPONSE_HEADERS, answerTextCall } from '../text/call.ts';

export function chatRoutes(http: HttpContext): readonly Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/chat/completions',
      operationId: 'createChatCompletion',
      tag: 'Text',
      summary: 'Create a chat completion',
      description:
        "Compatible with OpenAI's chat completions. With `stream`, the response is a stream of server-sent events that ends with `data: [DONE]`; an error during the stream is sent as an event. A parameter that the model does not support is rejected, and the error names it.",
      access: 'text:write',
      budget: 'text',
      body: {
        kind: 'json',
        schema: ChatRequestSchema,
        maxBytes: CREATE_BODY_BYTES,
        isCheckedLater: true,
        examples: {
          question: {
            summary: 'One question',
            value: { model: 'darkroom/conformance-text', messages: [{ role: 'user', content: 'What is 17 * 3?' }] },
          },
        },
      },
      response: { kind: 'json', schema: ChatCompletionSchema },
      otherResponses: { 200: { description: 'With `stream`: server-sent events.', mimeTypes: ['text/event-stream'] } },
      responseHeaders: TEXT_RESPONSE_HEADERS,
      errors: ['MODEL_UNAVAILABLE', 'INSUFFICIENT_BALANCE'],
      async handle(request) {
        const body = checkChatBody(request.body);
        const model = http.catalogue.resolveText(body.model);
        setDeprecationHeaders(request.ctx, model);
        await request.large?.nextTurn();
        const decoded = decodeChatRequest(body, model);
        const inlined = await prepareImages(http, request, imagesOfMessages(decoded.messages));
        const id = newTextCallId('chat');
        return answerTextCall(http, request, {
          id,
          surface: 'chat',
          // Named as the client sent it.
          parameters: body['max_tokens'] == null ? CHAT_PARAMETERS : { ...CHAT_PARAMETERS, cap: 'max_tokens' },
          model,
          request: { ...decoded, messages: withInlinedImages(decoded.messages, inlined) },
          body,
          nextTurn: request.large?.nextTurn,
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
        });
      },
    }),
  ];
}
