//! Two reviews by people with a lot of time.

/// On a pair of headphones, after a year.
pub(crate) const HEADPHONES: &str = "\
I have worn these headphones almost every day for a year, and since I read long reviews before I buy anything, I owe the world one. I am a translator, I sit for seven to nine hours a day, I live above a bakery that starts its mixers at three in the morning, and I take the train twice a week. I have no training in acoustics. I do have two ears and a grudge against noise.

The first week. The box is small and made of cardboard, which I liked. Pairing took less than a minute with my phone and about ten with my laptop, which is the laptop's fault. My first impression was that they were quiet: not only silent when nothing plays, but modest. They do not try to impress you with bass in the first ten seconds, as the ones in the shop did. I thought at first that something was missing. On the third evening I put on a record that I have known for twenty years and heard the singer take a breath before the second verse. I had never heard that breath. From then on I stopped missing the bass.

The first month. Comfort is hard to judge in a shop, because everything is comfortable for five minutes. I wear glasses with thick arms. After two hours I noticed a slight pressure on the left side; I bent the headband a little, as the guide suggests, and it went away and never came back. In July the pads got warm, but they get warm on everybody. They can be taken off and wiped, and the shop sells new ones at a fair price.

The first winter. I dropped them on a stone floor, from the height of a table, twice. There is a mark on the right cup which only I can find. I wore them under a woollen hat, I wore them in sleet, I once left them on the luggage rack and got them back four days later from the lost property office of a town I had never heard of. The battery still had something left. Speaking of which: in a year the battery has lost perhaps a tenth of what it could do. I charge on Sundays. If I forget, I charge on Tuesdays.

What I do not like. The button for the volume and the button for the next song are the same button, pressed for a different length of time, and I have skipped more songs than I have made louder. The voice that announces the connection cannot be made quieter, and it is always just a little more cheerful than I am. The case is too large for my bag, so I do not use it. And on calls in strong wind people tell me to go inside.

What I would tell a friend. There are headphones with more detail, and I have borrowed a pair that cost three times as much and admired them for an evening. There are cheaper ones that do most of this. But I have not thought about buying others once in twelve months, and for something that I carry on my head all day that is the highest praise I know. The bakery still starts at three. I have to be told.";

/// On a book, chapter by chapter.
pub(crate) const BOOK: &str = "\
Our reading circle meets on the last Thursday of the month, nine people between thirty and eighty-one, and for the first time in years everyone had finished the book. That alone deserves a review, so they made me write one. I will give away nothing that is not on the cover.

The beginning asks for patience. For about thirty pages you are shown around: who lives where, who owes whom a favour, which doors are locked. Two of us nearly stopped there. Read on. Every one of these doors is opened again later, and the pleasure of the second half is that you already know which stair creaks.

What carried us was the people. There is an aunt who appears on perhaps six pages, always with a bag of walnuts, and we talked about her for half an hour. Nobody in this book is there only to be useful to the plot. Even the one whom we all disliked (we disagreed about nearly everything else) is given an evening on which we understood him, and it spoils the dislike in the best way. The dialogue is short. People interrupt each other, they answer the question before last, they talk about the weather when they mean the will.

The language is plain, and plain is difficult. Our retired schoolmaster brought a pencil and marked every adjective in chapter four; he found eleven, and was so moved that he ordered wine. There is one long sentence in the book, near the end, over almost a page. When you reach it you will know why it could not be shorter.

The middle was our battlefield. Three of us thought it too slow. There is a journey, and the journey takes as long as such a journey takes, with waiting rooms and a wrong connection and soup. The others, and I am one of them, thought that the whole book is in those waiting rooms: it is there that the two stories touch for the first time, though you only see it on a second reading. I have read it twice now. The clue is in the soup.

About the end I may only say that it is one. No trapdoor, no twin brother, no letter that explains it all. One thing is left open, and it is the right thing. We were silent for a moment, which with nine of us is rare, and then all spoke at once.

Small complaints, since five stars without complaint look bought: the map at the front leaves out the bridge, which matters; the type is rather small for our eldest member, who read it with a lamp and a magnifying glass and says that it was worth both; and the text on the cover promises a thriller, which will annoy those who want one and keep away those who would love this book. Give it to somebody who listens well.";
