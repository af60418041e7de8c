/** Which files a task of a transcription makes: those that its input asks for, or else the model's default. */
import type { ModelDefinition } from '../catalogue/definition.ts';
import { withDefaults } from '../catalogue/input-defaults.ts';
import { FORMATS_FIELD, formatsOf } from '../transcripts/formats.ts';
import type { TranscriptFormat } from '../transcripts/formats.ts';

type Model = Pick<ModelDefinition, 'modality' | 'inputSchema'>;
type Input = Readonly<Record<string, unknown>>;

/** @returns undefined: the model makes media. */
export function transcriptFormats(
  { modality, inputSchema }: Model,
  input: Input,
): readonly TranscriptFormat[] | undefined {
  return modality === 'transcription' ? formatsOf(withDefaults(inputSchema, input)) : undefined;
}

/** The input as its provider receives it: the formats of a transcript are always named, so that none is assumed. */
export function withFormats(model: Model, input: Input): Input {
  const formats = transcriptFormats(model, input);
  return formats === undefined ? input : { ...input, [FORMATS_FIELD]: formats };
}
