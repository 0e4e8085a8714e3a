// Browsers start no worker from a page that was opened from a folder. There, the search runs in a
// hidden frame, which has the interface of a worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const scope = frame.contentWindow;
      scope.postMessage = (data) => {
        const message = new MessageEvent("message", { data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      };
      this.loaded = new Promise((done) => {
        const script = scope.document.createElement("script");
        script.src = url;
        script.onload = () => done(scope);
        scope.document.body.append(script);
      });
      this.frame = frame;
    }

    async postMessage(data) {
      const scope = await this.loaded;
      scope.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
