/**
 * A conversation in the form that upstreams' chat completions accept. Only what has a meaning there, in the form that
 * most servers support: a single text is not a list of parts, `developer` is `system` (chat templates of open models
 * have no other), and members that are null or empty are left out.
 */
import type { ContentPart, Message } from '../request.ts';
import type { Members } from './chat-choice.ts';

export function encodeMessages(messages: readonly Message[]): readonly Members[] {
  return messages.map((message) => {
    switch (message.role) {
      case 'assistant':
        return assistantMessage(message);
      case 'tool':
        return { role: 'tool', tool_call_id: message.toolCallId, content: contentOf(message.content) };
      default:
        return {
          role: message.role === 'developer' ? 'system' : message.role,
          content: contentOf(message.content),
          ...(message.name === undefined ? {} : { name: message.name }),
        };
    }
  });
}

function assistantMessage(message: Message & { readonly role: 'assistant' }): Members {
  const content = message.content.filter(({ type }) => type !== 'refusal');
  const refusals = message.content.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : []));
  return {
    role: 'assistant',
    content: content.length === 0 ? null : contentOf(content),
    ...(refusals.length === 0 ? {} : { refusal: refusals.join('') }),
    ...(message.reasoning === undefined ? {} : { reasoning_content: message.reasoning }),
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(message.toolCalls.length === 0
      ? {}
      : {
          tool_calls: message.toolCalls.map(({ id, name, arguments: text }) => ({
            id,
            type: 'function',
            function: { name, arguments: text },
          })),
        }),
  };
}

function contentOf(content: readonly ContentPart[]): string | readonly Members[] {
  const [first] = content;
  if (first === undefined) return '';
  if (content.length === 1 && first.type === 'text') return first.text;
  return content.map((part) => {
    switch (part.type) {
      case 'text':
        return { type: 'text', text: part.text };
      case 'refusal':
        return { type: 'refusal', refusal: part.refusal };
      case 'image':
        return {
          type: 'image_url',
          image_url: { url: part.url, ...(part.detail === undefined ? {} : { detail: part.detail }) },
        };
    }
  });
}
