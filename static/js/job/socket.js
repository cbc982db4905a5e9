// One WebSocket for the files of a run. Cursors are byte offsets in the files, so a reconnect goes on exactly
// where the last message ended: nothing is lost and nothing comes twice.
const FIRST_DELAY = 500;
const LONGEST_DELAY = 10000;
const GONE = 4404;

export class RunSocket {
  // handlers: text(file, start, end, text), state("open" | "lost" | "gone")
  constructor(path, handlers) {
    this.url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
    this.handlers = handlers;
    this.cursors = new Map();
    this.delay = FIRST_DELAY;
    this.heard = 0;
    this.ended = false;
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.hurry());
    this.connect();
  }

  get isOpen() {
    return this.socket.readyState === WebSocket.OPEN;
  }

  follow(file, offset) {
    this.cursors.set(file, offset);
    if (this.isOpen) this.ask({ [file]: offset });
  }

  unfollow(file) {
    this.cursors.delete(file);
    if (this.isOpen) this.socket.send(JSON.stringify({ unfollow: [file] }));
  }

  ask(follow) {
    this.socket.send(JSON.stringify({ follow }));
  }

  connect() {
    clearTimeout(this.timer);
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.delay = FIRST_DELAY;
      if (this.cursors.size) this.ask(Object.fromEntries(this.cursors));
      this.handlers.state("open");
    });
    socket.addEventListener("message", (event) => socket === this.socket && this.take(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => socket === this.socket && this.lost(event.code));
  }

  take({ file, start, end, text }) {
    this.heard = performance.now();
    const cursor = this.cursors.get(file);
    if (start !== cursor) {
      // The answer to a question that we have changed meanwhile: what we have already is dropped.
      if (end > cursor) this.ask({ [file]: cursor });
      return;
    }
    this.cursors.set(file, end);
    this.handlers.text(file, start, end, text);
  }

  lost(code) {
    if (this.ended) return;
    if (code === GONE) {
      this.ended = true;
      this.handlers.state("gone");
      return;
    }
    this.handlers.state("lost");
    // A little chance spreads the pages that a restarted server gets back all at once.
    this.timer = setTimeout(() => this.connect(), this.delay * (0.5 + Math.random()));
    this.delay = Math.min(this.delay * 2, LONGEST_DELAY);
  }

  hurry() {
    if (!this.ended && this.socket.readyState === WebSocket.CLOSED) this.connect();
  }

  // Drop a connection that seems dead without knowing it.
  restart() {
    if (this.ended) return;
    const old = this.socket;
    this.connect();
    old.close();
  }

  close() {
    this.ended = true;
    clearTimeout(this.timer);
    this.socket.close();
  }
}
