/**
 * Detects the end of a JSON object that arrives in pieces. Its content is not validated: a model's arguments need not
 * be valid, and only their end matters here.
 */
export class WholeObject {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isWhole = false;

  /** The bracket that closes the object has arrived. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  add(text: string): void {
    for (let index = 0; index < text.length && !this.#isWhole; index++) this.#take(text.charAt(index));
  }

  #take(character: string): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === '\\') this.#isEscaped = true;
      else if (character === '"') this.#isInString = false;
      return;
    }
    if (character === '"') this.#isInString = true;
    else if (character === '{' || character === '[') this.#depth += 1;
    else if (character === '}' || character === ']') {
      this.#depth -= 1;
      this.#isWhole = this.#depth === 0;
    }
  }
}
