/** Everything readable in a workflow's history: every text, and every payload as its bytes. */
import type { WorkflowHandle } from '@temporalio/client';

export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

/** All texts of a history, payloads decoded, in no particular order. */
export function historyTexts(history: unknown): readonly string[] {
  const texts: string[] = [];
  const read = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value);
    else if (value instanceof Uint8Array) texts.push(Buffer.from(value).toString('utf8'));
    else if (Array.isArray(value)) value.forEach(read);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        texts.push(name);
        read(member);
      }
    }
  };
  read(history);
  return texts;
}
