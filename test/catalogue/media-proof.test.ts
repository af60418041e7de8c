/** What the input schema of a transcription has to have. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelDefinition, Modality } from '../../src/catalogue/definition.ts';
import { findTranscriptionProblem } from '../../src/catalogue/media-proof.ts';
import { stub } from '../support/stub.ts';

const PLACE = 'inputSchema.properties.formats';
const right = { type: 'array', items: { enum: ['text', 'vtt'] }, minItems: 1, uniqueItems: true };

function problemOf(formats: unknown, modality: Modality = 'transcription'): string | undefined {
  const audio = { audio_url: { type: 'string', contentMediaType: 'audio/*' } };
  const properties = formats === undefined ? audio : { ...audio, formats };
  return findTranscriptionProblem(stub<ModelDefinition>({ modality, inputSchema: { type: 'object', properties } }));
}

describe('the formats of a transcription', () => {
  it('may be absent, or a list of those that exist', () => {
    assert.equal(problemOf(undefined), undefined);
    assert.equal(problemOf(right), undefined);
  });

  it('are those that can be made, and each at most once', () => {
    const list = `${PLACE}: it lists formats, from text, json, srt, vtt`;
    const unique = `${PLACE}: it needs "minItems": 1 and "uniqueItems": true`;
    const cases: readonly (readonly [unknown, string])[] = [
      [{ type: 'string', enum: ['text'] }, list],
      [{ ...right, items: { type: 'string' } }, list],
      [{ ...right, items: { enum: ['text', 'docx'] } }, `${PLACE}: there is no "docx", only text, json, srt, vtt`],
      [{ ...right, minItems: undefined }, unique],
      [{ ...right, uniqueItems: false }, unique],
    ];
    for (const [formats, problem] of cases) assert.equal(problemOf(formats), problem);
  });

  it('are made of a field with a recording', () => {
    const problem = findTranscriptionProblem(stub<ModelDefinition>({ modality: 'transcription', inputSchema: {} }));
    assert.match(problem ?? '', /^inputSchema\.properties: a transcription needs a field/);
  });

  it('mean nothing for other models', () => {
    assert.equal(problemOf({ type: 'string' }, 'video'), undefined);
  });
});
