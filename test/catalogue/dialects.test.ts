/** `dialects.openai` of a model file: the check of its rules, and the input that they make of a request. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCatalogue } from '../../src/catalogue/catalogue.ts';
import type { ModelDefinition } from '../../src/catalogue/definition.ts';
import { createModelReader, loadModels } from '../../src/catalogue/load-models.ts';
import { MEDIA_ENDPOINTS } from '../../src/catalogue/openai-endpoints.ts';
import type { EndpointRules, MediaEndpointName } from '../../src/catalogue/openai-endpoints.ts';
import {
  UnsupportedFieldError,
  endpointFieldOf,
  endpointsOf,
  inputOf,
  takesSeveral,
} from '../../src/catalogue/openai-input.ts';
import { isMediaModel } from '../../src/catalogue/text-definition.ts';
import { packageFile } from '../../src/config/package-root.ts';
import { PROTOCOLS } from '../../src/providers/protocols.ts';
import { definition, textDefinition } from './definitions.ts';

const IMAGE_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['prompt'],
  properties: {
    prompt: { type: 'string', minLength: 1, maxLength: 2000 },
    count: { type: 'integer', minimum: 1, maximum: 4 },
    aspect_ratio: { type: 'string', enum: ['1:1', '3:2'] },
    resolution: { type: 'string', enum: ['1k', '2k'] },
    style: { type: 'string', enum: ['ink', 'oil'] },
  },
};

const SIZES = {
  auto: {},
  '1024x1024': { aspect_ratio: '1:1', resolution: '1k' },
  '1536x1024': { aspect_ratio: '3:2', resolution: '1k' },
};

const RULES: EndpointRules = {
  prompt: { field: 'prompt' },
  n: { field: 'count' },
  size: { values: SIZES },
  style: { field: 'style' },
};

function imageModel(rules: EndpointRules = RULES, changes: Partial<ModelDefinition> = {}): ModelDefinition {
  return definition({
    inputSchema: IMAGE_SCHEMA,
    pricing: { unit: 'image', usd: '0.01' },
    dialects: { openai: { 'images/generations': rules } },
    ...changes,
  });
}

const TRANSCRIPTION_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['audio_url'],
  properties: {
    audio_url: { type: 'string', maxLength: 2048, contentMediaType: 'audio/*' },
    formats: { type: 'array', items: { enum: ['text', 'json'] }, minItems: 1, uniqueItems: true, default: ['text'] },
    max_seconds: { type: 'integer', minimum: 1, maximum: 600, default: 60 },
  },
};

function transcriptionModel(rules: EndpointRules): ModelDefinition {
  return definition({
    modality: 'transcription',
    inputSchema: TRANSCRIPTION_SCHEMA,
    pricing: { unit: 'input_second', usd: '0.001', hold: { field: 'max_seconds', default: 60 } },
    examples: [{ audio_url: 'https://example.com/a.mp3' }],
    dialects: { openai: { 'audio/transcriptions': rules } },
  });
}

/** What is reported about a file with this content. */
async function problemsOf(model: object): Promise<readonly string[]> {
  const read = await createModelReader(PROTOCOLS)(new Map([['/models/a.json', JSON.stringify(model)]]));
  return read.problems.map(({ message }) => message.replace('/models/a.json: ', ''));
}

describe('the check of dialects.openai', () => {
  it('accepts rules that fit', async () => {
    assert.deepEqual(await problemsOf(imageModel()), []);
    const formats = { json: { formats: ['json'] }, text: { formats: ['text'] }, verbose_json: { formats: ['json'] } };
    assert.deepEqual(
      await problemsOf(transcriptionModel({ file: { field: 'audio_url' }, response_format: { values: formats } })),
      [],
    );
  });

  const place = 'dialects.openai.images/generations';
  const cases: Readonly<Record<string, readonly [model: object, problem: string]>> = {
    'an unknown API': [{ ...imageModel(), dialects: { acme: {} } }, 'additional properties not allowed: dialects.acme'],
    'an unknown endpoint': [
      { ...imageModel(), dialects: { openai: { 'images/variations': {} } } },
      'additional properties not allowed: dialects.openai.images/variations',
    ],
    'an unknown field': [
      { ...imageModel(), dialects: { openai: { 'images/generations': { ...RULES, sise: { field: 'prompt' } } } } },
      `additional properties not allowed: ${place}.sise`,
    ],
    'an unknown member of a rule': [
      { ...imageModel(), dialects: { openai: { 'images/generations': { prompt: { name: 'prompt' } } } } },
      `additional properties not allowed: ${place}.prompt.name`,
    ],
    'a rule that says both': [
      imageModel({ ...RULES, size: { field: 'aspect_ratio', values: SIZES } }),
      `${place}.size: it needs either field or values`,
    ],
    'a rule that says nothing': [imageModel({ ...RULES, size: {} }), `${place}.size: it needs either field or values`],
    'a field that the model does not have': [
      imageModel({ ...RULES, n: { field: 'number' } }),
      `${place}.n.field: the inputSchema has no property "number"`,
    ],
    'a field of every object': [
      imageModel({ ...RULES, n: { field: 'constructor' } }),
      `${place}.n.field: the inputSchema has no property "constructor"`,
    ],
    'a mapped value that the model does not take': [
      imageModel({ ...RULES, size: { values: { '1024x1024': { resolution: '8k' } } } }),
      `${place}.size.values.1024x1024: invalid input: resolution: enum: got "8k", want one of "1k", "2k"`,
    ],
    'a mapped field that the model does not have': [
      imageModel({ ...RULES, size: { values: { '1024x1024': { width: 1024 } } } }),
      `${place}.size.values.1024x1024: additional properties not allowed: width`,
    ],
    'two rules for one field': [
      imageModel({ ...RULES, quality: { values: { high: { resolution: '2k' } } } }),
      `${place}.quality: size sets resolution already`,
    ],
    'no rule for what every request has': [
      imageModel({ n: { field: 'count' } }),
      `${place}: every request has prompt, so it needs a rule`,
    ],
    'a required field that may stay unset': [
      imageModel(RULES, { inputSchema: { ...IMAGE_SCHEMA, required: ['prompt', 'style'] } }),
      `${place}: the model requires style, and no field of every request sets it`,
    ],
    'an endpoint of another modality': [
      imageModel(RULES, { dialects: { openai: { 'audio/speech': { input: { field: 'prompt' } } } } }),
      'dialects.openai.audio/speech: it is for models of modality audio',
    ],
    'a format that the task does not make': [
      transcriptionModel({
        file: { field: 'audio_url' },
        response_format: { values: { json: { formats: ['text'] } } },
      }),
      'dialects.openai.audio/transcriptions.response_format.values.json: the task makes no file of format json',
    ],
    'no rule for the default format': [
      transcriptionModel({ file: { field: 'audio_url' } }),
      'dialects.openai.audio/transcriptions.response_format.values.json: the task makes no file of format json',
    ],
    'a format that does not exist': [
      transcriptionModel({
        file: { field: 'audio_url' },
        response_format: { values: { json: { formats: ['json'] }, docx: { formats: ['json'] } } },
      }),
      'dialects.openai.audio/transcriptions.response_format.values: there is no docx, only text, json, srt, vtt, verbose_json',
    ],
    'a file for a field that takes no media': [
      imageModel(RULES, {
        dialects: { openai: { 'images/edits': { image: { field: 'style' }, prompt: { field: 'prompt' } } } },
      }),
      'dialects.openai.images/edits.image.field: the property "style" takes no media; it needs contentMediaType',
    ],
    'edits without images': [
      imageModel(RULES, { dialects: { openai: { 'images/edits': { prompt: { field: 'prompt' } } } } }),
      'dialects.openai.images/edits: every request has image, so it needs a rule',
    ],
    'a mapping of a file by its value': [
      transcriptionModel({ file: { values: { a: { audio_url: 'https://example.com/a.mp3' } } } }),
      'dialects.openai.audio/transcriptions.file: a file is passed on under the name of a field',
    ],
  };
  for (const [what, [model, problem]] of Object.entries(cases)) {
    it(`rejects ${what}, with the position`, async () => {
      const problems = await problemsOf(model);

      assert.equal(problems.includes(problem), true, problems.join('\n'));
    });
  }
});

describe('the input that the rules make of a request', () => {
  const input = (fields: object, model = imageModel()) => inputOf(model, 'images/generations', { ...fields });

  it('has fields under the names of the model, and the mapped values', () => {
    assert.deepEqual(input({ prompt: 'a fox', n: 2, size: '1536x1024', style: 'ink' }), {
      prompt: 'a fox',
      count: 2,
      aspect_ratio: '3:2',
      resolution: '1k',
      style: 'ink',
    });
  });

  it('treats null as not given, and a field that is not given as its default', () => {
    const mapsDefault = imageModel({ ...RULES, size: { values: { auto: { aspect_ratio: '3:2' } } } });

    assert.deepEqual(input({ prompt: 'a fox', n: null, quality: null }), { prompt: 'a fox' });
    assert.deepEqual(input({ prompt: 'a fox' }, mapsDefault), { prompt: 'a fox', aspect_ratio: '3:2' });
  });

  it("accepts OpenAI's default of a field that the model does not have, or has no name for", () => {
    const defaults = { quality: 'auto', background: 'auto', moderation: 'auto', output_format: 'png', style: 'vivid' };

    assert.deepEqual(input({ prompt: 'a fox', ...defaults }), { prompt: 'a fox' });
  });

  const rejected: readonly (readonly [fields: object, param: string, message: RegExp, code: string])[] = [
    [{ quality: 'high' }, 'quality', /does not have this field/, 'unsupported_parameter'],
    [{ output_compression: 50 }, 'output_compression', /does not have this field/, 'unsupported_parameter'],
    [{ size: '512x512' }, 'size', /got "512x512", and the model acme\/images has auto, 1024x1024, /, 'invalid_value'],
    [{ size: 'constructor' }, 'size', /got "constructor"/, 'invalid_value'],
    [{ size: ['auto'] }, 'size', /got \["auto"\]/, 'invalid_value'],
  ];
  for (const [fields, param, message, code] of rejected) {
    it(`rejects ${JSON.stringify(fields)} by its name`, () => {
      assert.throws(
        () => input({ prompt: 'a fox', ...fields }),
        (error: unknown) => {
          assert.ok(error instanceof UnsupportedFieldError);
          assert.equal(error.param, param);
          assert.equal(error.code, code);
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }

  it('names the field of the request for a field of the input', () => {
    const model = imageModel();

    assert.equal(endpointFieldOf(model, 'images/generations', 'count'), 'n');
    assert.equal(endpointFieldOf(model, 'images/generations', 'aspect_ratio'), 'size');
    assert.equal(endpointFieldOf(model, 'images/generations', 'seed'), undefined);
  });

  it('is rejected for an endpoint that the model does not answer, with those that it does', () => {
    assert.throws(() => inputOf(definition(), 'images/generations', { prompt: 'a fox' }), {
      name: 'OtherEndpointError',
      message: 'the model "acme/images" does not answer /v1/images/generations; use it with /v1/tasks',
    });
  });
});

describe('the endpoints of a model', () => {
  it('are those that its file declares, besides tasks', () => {
    assert.deepEqual(endpointsOf(imageModel()), ['/v1/tasks', '/v1/images/generations']);
    assert.deepEqual(endpointsOf(definition()), ['/v1/tasks']);
    assert.deepEqual(endpointsOf(textDefinition()), ['/v1/chat/completions', '/v1/responses']);
  });
});

describe('the models that come with Darkroom', () => {
  it('take what the official clients send by default, in the input that their schema accepts', async () => {
    const models = (await loadModels([packageFile('models')], PROTOCOLS)).filter(isMediaModel);
    const catalogue = createCatalogue(models);
    const minimal: Readonly<Record<MediaEndpointName, object>> = {
      'images/generations': { prompt: 'a fox', n: 1, size: '2048x2048' },
      'images/edits': { prompt: 'a fox', image: ['https://example.com/a.png'], size: '2048x2048' },
      'audio/speech': { input: 'Hello.', voice: 'alloy' },
      'audio/transcriptions': { file: 'https://example.com/a.mp3' },
      'audio/translations': { file: 'https://example.com/a.mp3' },
    };
    const checked: string[] = [];
    for (const model of models) {
      for (const name of Object.keys(model.dialects?.openai ?? {}) as MediaEndpointName[]) {
        const sizes = model.dialects?.openai?.[name]?.['size']?.values ?? {};
        const fields = {
          ...minimal[name],
          ...('2048x2048' in sizes ? {} : { size: undefined }),
          ...(name === 'images/edits' && !takesSeveral(model, name, 'image')
            ? { image: 'https://example.com/a.png' }
            : {}),
        };
        assert.equal(catalogue.resolve(model.name, undefined).checkInput(inputOf(model, name, fields)), undefined);
        checked.push(`${model.name} ${MEDIA_ENDPOINTS[name].path}`);
      }
    }
    assert.ok(checked.includes('darkroom/scene /v1/images/generations'), checked.join('\n'));
    assert.ok(checked.includes('darkroom/edit /v1/images/edits'), checked.join('\n'));
    assert.ok(checked.includes('darkroom/speech /v1/audio/speech'), checked.join('\n'));
  });
});
