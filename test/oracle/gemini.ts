/** What `generateContent` answers, by the Gemini API and by Vertex AI. */
import type { Scripted } from './session.ts';

export const errorOf = (code: number, status: string, message: string, details: readonly object[] = []): Scripted => ({
  status: code,
  json: { error: { code, message, status, ...(details.length === 0 ? {} : { details }) } },
});

const image = (text: string) => ({
  inlineData: { mimeType: 'image/png', data: Buffer.from(text).toString('base64') },
});

const candidate = (finishReason: string, parts: readonly object[] = []): Scripted => ({
  json: {
    candidates: [{ content: { role: 'model', parts }, finishReason, index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1290, totalTokenCount: 1293 },
  },
});

/** Two images, after a thought that has one as well. */
export const IMAGE_ANSWER = candidate('STOP', [
  { ...image('a draft'), thought: true },
  { text: 'Here it is.' },
  image('one'),
  image('two'),
]);

/** Answers that took the work and have no image. */
export const REJECTED_IMAGES: readonly { readonly what: string; readonly answer: Scripted; readonly reason: string }[] =
  [
    {
      what: 'a prompt that was blocked',
      answer: { json: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } } },
      reason: 'content_rejected',
    },
    { what: 'moderation of the image', answer: candidate('IMAGE_SAFETY'), reason: 'content_rejected' },
    { what: 'an answer in words', answer: candidate('STOP', [{ text: 'No.' }]), reason: 'no_output' },
    { what: 'no image', answer: candidate('NO_IMAGE'), reason: 'no_output' },
  ];

/** The consumption of `IMAGE_ANSWER` as the official client gives it. */
export function usageOfClient(value: unknown): object {
  const { usageMetadata } = value as { usageMetadata: Readonly<Record<string, number>> };
  const { promptTokenCount, candidatesTokenCount, totalTokenCount } = usageMetadata;
  return { inputTokens: promptTokenCount, outputTokens: candidatesTokenCount, totalTokens: totalTokenCount };
}

/** The images of a response as the official client gives it, without those of its thoughts. */
export function filesOfClient(value: unknown): readonly { readonly from: 'bytes'; readonly bytes: Buffer }[] {
  interface Part {
    readonly thought?: boolean;
    readonly inlineData?: { readonly data: string };
  }
  const { candidates = [] } = value as { candidates?: { content?: { parts?: Part[] } }[] };
  const parts = candidates.flatMap(({ content }) => content?.parts ?? []);
  return parts.flatMap(({ thought, inlineData }) =>
    thought === true || inlineData === undefined
      ? []
      : [{ from: 'bytes' as const, bytes: Buffer.from(inlineData.data, 'base64') }],
  );
}
