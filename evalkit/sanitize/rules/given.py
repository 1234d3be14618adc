"""Given names that are no common words: before a second capitalised word they tell that both are a person's."""

from __future__ import annotations

__all__ = ["GIVEN", "GIVEN_NAMES", "NO_FAMILY"]

GIVEN_NAMES: tuple[str, ...] = tuple(
    """
    Aaron Abdul Abdullah Abigail Adam Adele Adrian Adriana Agnes Ahmad Ahmed Aisha Alan Albert Alejandra Alejandro
    Aleksandr Alessandra Alessandro Alexander Alexandra Alexandre Alexei Alfonso Alfred Ali Alice Alicia Alina Alison
    Allison Alyssa Amanda Amara Amelia Amina Amir Amit Ana Anastasia Anders Andre Andrea Andreas Andrei Andrew Angela
    Angelina Anita Anja Anjali Ann Anna Anne Annette Annika Anthony Anton Antonio Anya Arjun Arthur Arturo Astrid
    Ava Ayesha Barbara Beatrice Beatriz Benjamin Bernard Bernd Bianca Björn Boris Brandon Brenda Brian Bridget Bruno
    Bryan Caitlin Calvin Camila Camille Carl Carla Carlos Carmen Carol Carolina Caroline Catherine Cecilia Cedric Celine
    Chantal Charles Chiara Chloe Christina Christine Christoph Christopher Claire Clara Claudia Clemens Cristina
    Cynthia Damian Daniel Daniela Danielle Darius David Deborah Deepak Denise Dennis Derek Diana Diane Dieter Dimitri
    Dmitri Dmitry Dominic Donald Dorothy Douglas Duncan Dylan Edith Eduardo Edward Edwin Eileen Elaine Elena Eleanor Eli
    Elias Elif Elijah Elisa Elisabeth Eliza Elizabeth Ella Ellen Elsa Emil Emilia Emily Emine Emma Emmanuel Enrique
    Erica Erik Erika Esther Ethan Eva Evan Evelyn Ewa Farah Fatima Federico Felipe Felix Fernanda Fernando Fiona
    Florian Frances Francesca Francois Françoise Frederick Frida Friedrich Gabriel Gabriela Gareth Geoffrey
    George Gerald Gerhard Giovanni Giulia Gloria Gonzalo Graham Greta Gregory Guillermo Günther Gustav Hamza Hannah
    Hans Harold Harriet Harry Hassan Hector Heidi Heinrich Helen Helga Henri Henrik Henry Hiroshi Hugo Ian
    Ibrahim Ingrid Irene Irina Isaac Isabel Isabella Ivan Jacob Jacqueline Jakub James Jamal Jane Janet Janice
    Jasmin Jason Javier Jeffrey Jennifer Jeremy Jerome Jessica Joanna Johan Johann Johanna John Jonas Jonathan Jorge
    Joseph Josephine Joshua Juan Judith Julia Julian Juliana Julie Juliette Jürgen Karen Karim Karin Karina Karl
    Katarina Katarzyna Kate Katherine Kathleen Katja Kavita Keisha Keith Kenji Kenneth Kevin Khadija Khalid Kimberly
    Kofi Kristen Kristina Krzysztof Kyle Lars Laura Lauren Lea Leila Lena Leonard Leonardo Leticia Liam Lina Linda Lisa
    Logan Lorenzo Louis Louise Luca Lucas Lucia Luciana Lucy Ludwig Luis Luisa Lukas Lydia Madeleine Magdalena Mahmoud
    Manuel Manuela Marcel Marco Marcos Marcus Margaret Maria Mariam Mariana Marianne Marie Marisol Marta Martha Martin
    Martina Mary Mateo Mathilde Matteo Matthew Matthias Maurice Megan Mehmet Melanie Melissa Mia Michael Michelle
    Miguel Mikhail Milena Mohamed Mohammad Mohammed Monica Monika Muhammad Mustafa Nadia Nancy Naomi Natalia Natalie
    Natasha Nathan Nathaniel Neha Nicholas Nicolas Nicole Nikhil Nikolai Nina Noah Noor Nora Odette Oleg Olga Oliver
    Olivia Omar Oskar Owen Pablo Pamela Patricia Patrick Patrik Paul Paula Pavel Pedro Penelope Peter
    Philip Philipp Philippe Pierre Piotr Priya Quentin Rachel Rafael Raj Rajesh Ralph Ramon Raquel Ravi Raymond Rebecca
    Reinhard Renata Ricardo Richard Roberta Roberto Robert Rodrigo Roger Roland Ronald Rosa Roxanne Roya Ruben Rudolf
    Rupert Ryan Sabine Sabrina Sadia Salma Samantha Samir Samuel Sandra Sanjay Sara Sarah Sebastian Serena
    Sergei Sergio Shannon Sharon Sheila Shirley Shreya Simon Simone Sofia Sonia Sonja Sophia Sophie Stefan Stefanie
    Stella Stephanie Stephen Steven Sunita Susan Susanne Suzanne Svetlana Sven Sylvia Tamara Tanya Tariq Tatiana Teresa
    Theodore Theresa Thomas Tiffany Timothy Tobias Tomás Tomasz Tracy Ulrich Ulrike Ursula Valentina Valeria Vanessa
    Vera Vikram Vincent Vivian Vladimir Walter Wanda Wendy Werner Wilhelm William Wolfgang Xavier Yasmin Yolanda Youssef
    Yuki Yuri Yusuf Yvonne Zachary Zainab Zoe Zoya
    Wei Xiaoming Xiaoli Jing Yan Ling Mei Hao Lei Qiang Xin Yifan Zihan Haruto Kenta Hyun Jisoo
    """.split()
)
"""As they are written; words, places and things of the same spelling (Grace, Paris, Jordan) are left out on purpose."""

GIVEN: frozenset[str] = frozenset(map(str.lower, GIVEN_NAMES))
"""The same, lower case."""

NO_FAMILY: frozenset[str] = frozenset(
    """
    account accounts act active address adjustment agency agent agents agreement air airlines airport airways alert alliance
    analytics and api app application appointment approval area army association at authority auto award awards
    balance basic beach benefit benefits billing board booking bookings building bureau business by cabin campus cancer
    cancellation care category cathedral cave center centre charge charges check checkout claim claims class clinic club code
    coast college commission committee community company complaint confirmation contact contract corporation
    council county course court coverage creek credit data database day days declaration deed delivery department desk
    detail details device diagnosis disease district division documents economy edition education effect elite email
    enterprise enrollment error event exchange experience express failed feedback festival field file files find first
    flight flights for foundation free from fund gallery get gift global group guide health help history home hospital
    hotel hub id identification identity in inc index industries info information inn institute insurance international is
    invoice island islands issue issues item items journey lab laboratory language lane last league library line lines
    list ltd lounge mail main management manager manifest medical medicine member membership memorial mentioned method
    ministry mobile model monument motors mount museum music name national network new not note notes notification
    number of office official online operations order orders organisation organization original park partners
    passenger password payment payments personal phase phone plan platform plaza point policy portal preferences premium
    prize process profile program programme project protection protocol protocols purchase query question railway rail
    range record records records reference refund region registration relations report reports request requests
    requirements research reservation reservations resort response result results return review reviews rewards rights
    river road room rule rules safety sales satisfaction savings school score screen search section seat sector security
    segment select selection services session settings shipping shop shopping silver site skin society software space
    specification stadium standard state station status store studio studios subscription success suite summary
    support survey system systems table target team technologies technology terms test theater theatre theorem ticket
    tickets time to tools total tower trail transaction transactions transfer transport travel treatment trust type
    unit university update upgrade user value verification version view village visa warranty website window with
    workflow zone has was will had did does can asked said says called wants wrote paid booked
    city kingdom states republic zealand africa korea arabia rico lanka town valley heights hills falls bot llm
    arbor baba dynasty optimizer package springs fir stream era empire ruins giants side rendering loan loans
    forgiveness onboarding lifecycle segmentation retention churn lifetime acquisition engagement two three four five six
    adult adults child children kids infants economy business jr sr
    """.split()
)
"""Lower case. What stands behind a word for a person, or behind a given name, and is no family name."""

PLACE_WORDS: tuple[str, ...] = tuple(
    "San Santa Saint St St. Sant São Port Fort Ft. Mount Mt Mt. Lake Cape Los Las El Lady King Queen Prince Princess Pope "
    "Hurricane Storm Typhoon Villa Point Isla Île".split()
)
"""Words in front of a given name that make a place or a title of it: San Antonio, St. Louis."""

THING_WORDS: tuple[str, ...] = tuple(
    "airport hospita univers school street avenue road award prize foundat institu center centre library museum stadium "
    "park bridge buildin hall house memoria square college clinic company inc ltd llc corp group bouleva blvd drive lane "
    "court place plaza theater theatre theorem day act fund hotel church cathedr element intern algorit".split()
)
"""Lower case, seven letters at most: what stands behind a name that is a thing's: Charles de Gaulle Airport."""
