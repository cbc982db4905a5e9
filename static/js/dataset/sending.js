// Sends one file in pieces. The server says how much it has; each piece carries its own checksum, the end that of the
// whole. The browser's own SHA-256 takes nothing in parts and is missing on plain HTTP: the library does both.
import { sha256 } from "../../vendor/noble-hashes/sha2.js";

const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 30_000;

export class Refused extends Error {}
export class Stopped extends Error {}
export class Unreadable extends Error {}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const digest = async (bytes) => (globalThis.crypto?.subtle ? new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)) : sha256(bytes));
const base64 = (bytes) => btoa(String.fromCharCode(...bytes));

export class Sending {
  // say(what, done): "reading", "sending", "proving", "lost" or "another", and how many bytes
  constructor(file, token, say) {
    this.file = file;
    this.token = token;
    this.say = say;
    this.stopped = new AbortController();
  }

  stop() {
    this.stopped.abort();
  }

  async run(url, team, name) {
    const { file } = this;
    this.state = await this.answer("POST", url, { body: JSON.stringify({ team, name: file.name, size: file.size, modified: Math.max(0, file.lastModified) }) });
    const whole = sha256.create();
    for (let place = 0; place < file.size && this.state.state === "open"; ) {
      const end = Math.min(place + this.state.piece, file.size);
      const bytes = await this.read(place, end);
      while (this.state.offset < end && this.state.state === "open") await this.send(bytes, place);
      whole.update(bytes);
      place = end;
      if (this.state.offset > place) this.say("reading", place);
    }
    this.say("proving", file.size);
    while (this.state.state === "open") await this.finish(name, hex(whole.digest()));
    return this.state;
  }

  // `bytes` begin at `place`; what the server has of them is left out.
  async send(bytes, place) {
    const from = this.state.offset;
    if (from < place) throw new Refused(); // it has lost what it had
    const piece = bytes.subarray(from - place);
    this.say("sending", from);
    const headers = { "Upload-Offset": String(from), "Content-Digest": `sha-256=:${base64(await digest(piece))}:`, "Content-Type": "application/octet-stream" };
    Object.assign(this.state, await this.answer("PUT", this.state.url, { body: piece, headers }));
    this.say("sending", this.state.offset);
  }

  async finish(name, digest) {
    this.digest ??= digest;
    this.state = await this.answer("POST", this.state.finish, { body: JSON.stringify({ sha256: this.digest, name }) });
  }

  async read(start, end) {
    if (this.stopped.signal.aborted) throw new Stopped();
    try {
      return new Uint8Array(await this.file.slice(start, end).arrayBuffer());
    } catch {
      throw new Unreadable();
    }
  }

  // Tries again until the server answers; another offset than ours is an answer, too.
  async answer(method, url, options) {
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      const response = await this.ask(method, url, options);
      const data = response ? await response.json().catch(() => ({})) : {};
      if (response?.ok) return data;
      if (response?.status === 409 && Number.isInteger(data.offset)) return { ...this.state, offset: data.offset };
      if (response && response.status < 500 && response.status !== 423) throw new Refused(data.words);
      if (response?.status === 507) throw new Refused(data.words);
      this.say(response?.status === 423 ? "another" : "lost", this.state?.offset ?? 0);
      await this.pause(pause);
    }
  }

  async ask(method, url, { body, headers = {} }) {
    try {
      return await fetch(url, { method, body, headers: { ...headers, "X-CSRFToken": this.token }, signal: this.stopped.signal });
    } catch {
      if (this.stopped.signal.aborted) throw new Stopped();
      return null;
    }
  }

  async pause(milliseconds) {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    if (this.stopped.signal.aborted) throw new Stopped();
  }
}
