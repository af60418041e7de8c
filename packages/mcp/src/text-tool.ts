/**
 * The tool for text models: one complete answer to a conversation.
 */
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { ApiClient } from '@darkroom/api/client/api-client';
import type { ChatCompletion } from '@darkroom/api/openai/chat-completion';
import { modelField } from './fields.ts';
import { toolError, runTool } from './tool-result.ts';

export function addTextTool(server: McpServer, api: ApiClient): void {
  server.registerTool(
    'text',
    {
      title: 'Call a text model',
      description:
        'Calls a text model (list_models with modality `text`) and returns its text; costs money by the token. Use `prompt` for one message, or `messages` for a conversation, not both.',
      inputSchema: z.strictObject({
        model: modelField,
        prompt: z.string().min(1).optional().describe('One message.'),
        messages: z
          .array(
            z.strictObject({
              role: z.enum(['system', 'user', 'assistant']),
              content: z.string().min(1).describe('The text of the message.'),
            }),
          )
          .min(1)
          .max(10_000)
          .optional()
          .describe('A conversation so far, oldest first; the last message is the one to answer.'),
        max_tokens: z
          .int()
          .min(1)
          .max(100_000_000)
          .optional()
          .describe('Ends reasoning and answer after this many tokens, and bounds the cost.'),
        temperature: z.number().min(0).max(2).optional().describe('Sampling temperature.'),
      }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    },
    ({ model, prompt, messages, max_tokens: maxTokens, temperature }, { signal }) =>
      runTool(async () => {
        if ((prompt === undefined) === (messages === undefined)) {
          return toolError('Use either `prompt` or `messages`, not both.');
        }
        const body = {
          model,
          messages: messages ?? [{ role: 'user', content: prompt }],
          ...(maxTokens === undefined ? {} : { max_completion_tokens: maxTokens }),
          ...(temperature === undefined ? {} : { temperature }),
        };
        return presentText(await api.call<ChatCompletion>('POST', '/chat/completions', { body, signal }));
      }),
  );
}

/** The text is a block of its own, so that a model reads it as such; its metadata is separate. */
function presentText({ choices: [choice], usage }: ChatCompletion): CallToolResult {
  const text = choice?.message.content ?? choice?.message.refusal ?? '';
  const facts = { finish_reason: choice?.finish_reason ?? null, ...(usage === undefined ? {} : { usage }) };
  return {
    content: [
      { type: 'text', text },
      { type: 'text', text: JSON.stringify(facts) },
    ],
  };
}
