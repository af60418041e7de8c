/**
 * How many turns a model has in one answer, and what all of them come to at most. A model that may call the built-in
 * tool has a turn after each call, whose input is the conversation so far.
 */
import type { TextModelDefinition } from '../../catalogue/text-definition.ts';
import { boundAddedTokens } from '../money/input-bound.ts';
import { LONGEST_OUTPUT } from '../responses/image-calls.ts';
import type { ImageTool } from './image-tool.ts';

/** The longest id of a call that common servers write has some 50 characters. */
const LONGEST_ID = 'x'.repeat(128);

/** A call of a model, with the built-in tool if the model may call it. */
export interface BoundedTurns {
  readonly model: TextModelDefinition;
  readonly imageTool?: Pick<ImageTool, 'offered' | 'maxImages'> | undefined;
}

/**
 * The most input tokens of all turns together; without the tool there is one turn. What the model wrote has about as
 * many tokens when it reads it again; the margins of the calls are for the rest.
 *
 * @param inputTokens the bound of the first turn. @param maxOutputTokens the cap of all turns together.
 */
export async function boundInputOfTurns(
  { model, imageTool }: BoundedTurns,
  inputTokens: number,
  maxOutputTokens: number,
): Promise<number> {
  if (imageTool === undefined) return inputTokens;
  const { offered, maxImages: images } = imageTool;
  const toolCall = { id: LONGEST_ID, name: offered.name, arguments: '' };
  const perCall = await boundAddedTokens(
    [
      { role: 'assistant', content: [{ type: 'text', text: '' }], toolCalls: [toolCall] },
      { role: 'tool', toolCallId: LONGEST_ID, content: [{ type: 'text', text: LONGEST_OUTPUT }] },
    ],
    model,
  );
  // An upstream rejects what does not fit the context; the bound of the first turn may be above it.
  const last = Math.min(inputTokens + maxOutputTokens + images * perCall, Math.max(model.contextTokens, inputTokens));
  return inputTokens + images * last;
}
