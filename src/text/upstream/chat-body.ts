/**
 * A whole chat completion on its way from an upstream to a client of the same interface: its content and how it ended
 * are copied, everything else is ours. The fields that OpenAI's document requires are there, whatever the upstream
 * omits.
 */
import { wireUsage } from '../chat/encode-answer.ts';
import type { TextCall } from '../source.ts';
import { readChatPiece } from './chat-choice.ts';
import type { ChoicePart, Members } from './chat-choice.ts';
import { ToolCalls } from './tool-calls.ts';
import { invalidAnswer } from './upstream-failure.ts';

/** @param json as the upstream sent it. @throws {UpstreamFailure} `upstream_invalid`. */
export function chatBody(json: unknown, { id, model, createdAt, tally }: TextCall): Members {
  const { parts, usage } = readChatPiece(json, 'message');
  if (parts.length === 0) throw invalidAnswer('a completion without choices');
  const choices = parts.map((part) => {
    const toolCalls = wholeCalls(part);
    return {
      index: part.index,
      message: messageOf(part, toolCalls),
      logprobs: logprobsOf(part),
      finish_reason: part.finish ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    };
  });
  for (const { text, refusal, reasoning, toolCalls } of parts) {
    tally.addOutput(text);
    tally.addOutput(refusal);
    tally.addReasoning(reasoning);
    for (const call of toolCalls) tally.addOutput(JSON.stringify(call['function']));
  }
  if (usage !== undefined) tally.report(usage);
  return {
    id,
    object: 'chat.completion',
    created: createdAt,
    model: model.name,
    choices,
    usage: wireUsage(tally.usage()),
  };
}

interface WholeCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

function wholeCalls(part: ChoicePart): readonly WholeCall[] {
  return part.toolCalls.map((call) => {
    const { id, name, text } = new ToolCalls().assign(call);
    if (name === undefined) throw invalidAnswer('a tool call without a name');
    return { id, type: 'function', function: { name, arguments: text } };
  });
}

function messageOf(part: ChoicePart, toolCalls: readonly WholeCall[]): Members {
  const isSilent = part.text === '' && (toolCalls.length > 0 || part.refusal !== '');
  const { annotations } = part.content;
  return {
    role: 'assistant',
    content: isSilent ? null : part.text,
    refusal: part.refusal === '' ? null : part.refusal,
    annotations: Array.isArray(annotations) ? annotations : [],
    ...(part.reasoning === '' ? {} : { reasoning_content: part.reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

function logprobsOf({ logprobs }: ChoicePart): Members | null {
  if (logprobs === undefined) return null;
  return { content: logprobs['content'] ?? null, refusal: logprobs['refusal'] ?? null };
}
