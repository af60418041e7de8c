/**
 * What `[hold]` and `[hold-submit]` wait for: a test lets work go on when it has seen what it waited for, so that its
 * outcome does not depend on how fast the machine is.
 */
export interface Holds {
  /** Resolves once the prompt is released. */
  waitFor(prompt: string): Promise<void>;
  /** Releases all prompts with this text, those that are still to come included. */
  release(text: string): void;
}

export function createHolds(): Holds {
  const released: string[] = [];
  const waiting = new Set<{ readonly prompt: string; readonly resume: () => void }>();
  return {
    async waitFor(prompt) {
      if (released.some((text) => prompt.includes(text))) return;
      await new Promise<void>((resume) => waiting.add({ prompt, resume }));
    },
    release(text) {
      released.push(text);
      for (const held of waiting) {
        if (!held.prompt.includes(text)) continue;
        waiting.delete(held);
        held.resume();
      }
    },
  };
}
