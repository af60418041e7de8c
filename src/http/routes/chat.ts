/**
 * `POST /v1/chat/completions` (spec §4.4, contract §9). It bypasses Temporal: the answer is generated, or fetched,
 * while the client waits.
 */
import { newTextCallId } from '../../domain/ids.ts';
import { checkChatBody } from '../../text/chat/decode-request.ts';
import { ChatCompletionSchema } from '@darkroom/api/openai/chat-completion';
import { ChatRequestSchema } from '@darkroom/api/openai/chat-request';
import type { HttpContext } from '../app/context.ts';
import { setDeprecationHeaders } from '../middleware/response-headers.ts';
import { CREATE_BODY_BYTES } from '../bodies/json-body.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { TEXT_RESPONSE_HEADERS, answerTextCall, closedSignal } from '../text/call.ts';
import { decodeChatCall } from '../text/decode-call.ts';

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
        const { ctx, caller, large } = request;
        const body = checkChatBody(request.body);
        const model = http.catalogue.resolveText(body.model);
        setDeprecationHeaders(ctx, model);
        await large?.nextTurn();
        const call = {
          id: newTextCallId('chat'),
          caller,
          nextTurn: large?.nextTurn,
          until: () => closedSignal(ctx.res),
        };
        return answerTextCall(http, request, await decodeChatCall(http, model, body, call));
      },
    }),
  ];
}
