/** What the input schema of a transcription has to have, beyond what that of every model has. */
import { memberOf } from '../domain/json-members.ts';
import { FORMATS_FIELD, TRANSCRIPT_FORMATS } from '../transcripts/formats.ts';
import type { ModelDefinition } from './definition.ts';
import { mediaTypesIn } from './media-proof.ts';

const PLACE = `inputSchema.properties.${FORMATS_FIELD}`;

/** @returns the problem, with its position in the file; undefined: none, or the model makes media. */
export function findTranscriptionProblem({ modality, inputSchema }: ModelDefinition): string | undefined {
  if (modality !== 'transcription') return undefined;
  const properties = memberOf(inputSchema, 'properties');
  if (!mediaTypesIn(inputSchema).some(({ type }) => /^(audio|video)\//.test(String(type)))) {
    return 'inputSchema.properties: a transcription needs a field with "contentMediaType": "audio/*" or "video/*"';
  }
  const formats = memberOf(properties, FORMATS_FIELD);
  // Without the field, a task makes JSON.
  if (formats === undefined) return undefined;
  const choices = memberOf(memberOf(formats, 'items'), 'enum');
  const names: readonly unknown[] = Array.isArray(choices) ? choices : [];
  const known = TRANSCRIPT_FORMATS.join(', ');
  if (memberOf(formats, 'type') !== 'array' || names.length === 0) return `${PLACE}: it lists formats, from ${known}`;
  const unknown = names.find((name) => !TRANSCRIPT_FORMATS.some((format) => format === name));
  if (unknown !== undefined) return `${PLACE}: there is no ${JSON.stringify(unknown)}, only ${known}`;
  if (memberOf(formats, 'minItems') !== 1 || memberOf(formats, 'uniqueItems') !== true) {
    return `${PLACE}: it needs "minItems": 1 and "uniqueItems": true`;
  }
  return undefined;
}
