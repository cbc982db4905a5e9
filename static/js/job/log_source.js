// Feeds the log view with one file: its end by HTTP, what grows by the socket, what is earlier when it is wanted.
const TAIL_BYTES = 512 * 1024;

export class LogSource {
  // socket is null for a run that has ended
  constructor(filesUrl, view, socket) {
    this.filesUrl = filesUrl;
    this.view = view;
    this.socket = socket;
    this.file = null;
    this.start = 0;
    this.fetching = false;
  }

  url(file, query) {
    return `${this.filesUrl}${file}?${query}`;
  }

  async open(file) {
    if (this.file && this.socket) this.socket.unfollow(this.file);
    this.file = file;
    this.start = 0;
    this.view.clear();
    this.view.follow(true);
    const piece = await this.fetch(`since=-${TAIL_BYTES}`);
    if (this.file !== file) return; // the reader has chosen another one meanwhile
    if (piece) {
      this.view.append(piece.text);
      this.start = piece.start;
    }
    this.socket?.follow(file, piece ? piece.end : 0);
  }

  take(file, text) {
    if (file === this.file) this.view.append(text);
  }

  async earlier() {
    if (this.fetching || this.start === 0) return;
    this.fetching = true;
    const file = this.file;
    const piece = await this.fetch(`before=${this.start}&limit=${TAIL_BYTES}`);
    this.fetching = false;
    if (!piece || this.file !== file) return;
    this.start = piece.start;
    this.view.prepend(piece.text);
  }

  // Null when there is no such file yet, or no server.
  async fetch(query) {
    try {
      const response = await fetch(this.url(this.file, query));
      if (!response.ok) return null;
      const [start, end] = ["X-Start-Offset", "X-End-Offset"].map((name) => Number(response.headers.get(name)));
      return { start, end, text: await response.text() };
    } catch {
      return null;
    }
  }
}
