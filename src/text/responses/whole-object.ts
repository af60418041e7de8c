/**
 * Tells when a JSON object that comes in pieces has come to its end. What is inside is not judged: a model's arguments
 * need not be valid, and here only their end is of interest.
 */
export class WholeObject {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isWhole = false;

  /** The bracket that closes the object has come. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  add(text: string): void {
    for (let place = 0; place < text.length && !this.#isWhole; place++) this.#take(text.charAt(place));
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
